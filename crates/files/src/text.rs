//! Text files: decoded piece by piece, in their own positions.
//!
//! `offset` counts bytes of the file. Nothing is hidden: carriage returns and a byte order mark (U+FEFF) stand in the
//! text, so text that was read whole and is written back in the same encoding is byte for byte the same file.

use crate::charset::{self, Content};
use crate::read::{ReadOptions, Reading};
use crate::{Cancel, FilesError};
use encoding_rs::{DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

/// The encoding is told from this much of the start.
const SAMPLE: u64 = 1 << 20;
/// A file in an encoding that cannot be entered in the middle is decoded from its start; more than this takes too long.
const MAX_LEGACY: u64 = 128 << 20;
const CHUNK: usize = 64 << 10;

/// An open file and how to speak of it.
pub(crate) struct Source<'a> {
    pub(crate) file: File,
    pub(crate) asked: &'a str,
    /// Bytes as the system says; 0 for files it makes up as they are read (`/proc`).
    pub(crate) size: u64,
    pub(crate) cancel: Cancel<'a>,
}

impl Source<'_> {
    fn io(&self, error: std::io::Error) -> FilesError {
        FilesError::from_io(self.asked, error)
    }

    /// At most `limit` bytes from `offset`, and whether the file ends there.
    pub(crate) fn bytes(&mut self, offset: u64, limit: u64) -> Result<(Vec<u8>, bool), FilesError> {
        self.file.seek(SeekFrom::Start(offset)).map_err(|error| self.io(error))?;
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < limit {
            self.cancel.check()?;
            let left = limit - bytes.len() as u64;
            let got = (&self.file).take(left.min(CHUNK as u64)).read_to_end(&mut bytes);
            match got {
                Ok(0) => return Ok((bytes, true)),
                Ok(_) => {}
                // A file that has nothing to say now (a kernel log): never waited for.
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok((bytes, true)),
                Err(error) => return Err(self.io(error)),
            }
        }
        let ended = offset + bytes.len() as u64 >= self.size && self.at_end()?;
        Ok((bytes, ended))
    }

    fn at_end(&mut self) -> Result<bool, FilesError> {
        match (&self.file).read(&mut [0]) {
            Ok(read) => Ok(read == 0),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(self.io(error)),
        }
    }
}

/// Reads a text file, from `options.offset` on.
pub(crate) fn read(source: &mut Source<'_>, options: &ReadOptions) -> Result<Reading, FilesError> {
    let (sample, whole) = source.bytes(0, SAMPLE)?;
    let (encoding, guessed) = encoding_of(source, options, &sample, whole)?;
    let total = source.size.max(sample.len() as u64);
    // A file without a size (`/proc`) may go on after the sample.
    if options.offset > total && (whole || source.size > 0) {
        let reason = format!("{} is past the end: the file has {total} bytes", options.offset);
        return Err(FilesError::InvalidArgument { name: "offset", reason });
    }
    let piece = if encoding == UTF_8 || encoding == UTF_16LE || encoding == UTF_16BE {
        enter(source, encoding, options)?
    } else {
        from_start(source, encoding, options)?
    };
    let next = options.offset + piece.read;
    Ok(Reading {
        encoding: Some(encoding.name().to_ascii_lowercase()),
        encoding_guessed: guessed,
        replaced: piece.replaced,
        text: piece.text,
        next_offset: (!piece.ended).then_some(next),
        total_bytes: total.max(next),
        total_is_minimum: !piece.ended && source.size == 0,
        ..Reading::new("text", options.offset)
    })
}

fn encoding_of(source: &Source<'_>, options: &ReadOptions, sample: &[u8], whole: bool) -> Result<(&'static Encoding, bool), FilesError> {
    let path = source.asked.to_owned();
    if let Some(label) = &options.encoding {
        let reason = || format!("there is no encoding {label:?}. Examples: utf-8, utf-16le, gbk, shift_jis, windows-1252");
        let encoding = charset::named(label).ok_or_else(|| FilesError::InvalidArgument { name: "encoding", reason: reason() })?;
        return Ok((encoding, false));
    }
    match charset::look_at(sample, whole) {
        Content::Text { encoding, guessed } => Ok((encoding, guessed)),
        Content::Binary(kind) => Err(FilesError::Binary { path, kind: kind.to_owned() }),
        Content::Unknown(reason) => Err(FilesError::Encoding { path, reason: reason.to_owned() }),
    }
}

/// A decoded stretch of a file.
struct Piece {
    text: String,
    /// Bytes of the file it stands for.
    read: u64,
    ended: bool,
    /// Characters put in for bytes that could not be decoded.
    replaced: u64,
}

/// Encodings whose characters can be found from anywhere: goes straight to the offset.
fn enter(source: &mut Source<'_>, encoding: &'static Encoding, options: &ReadOptions) -> Result<Piece, FilesError> {
    let (bytes, ended) = source.bytes(options.offset, options.limit as u64)?;
    let keep = if ended { bytes.len() } else { whole_characters(&bytes, encoding) };
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(options.limit);
    let (result, read, replaced) = decode(&mut decoder, &bytes[..keep], &mut text, ended);
    let ended = ended && result == DecoderResult::InputEmpty;
    Ok(Piece { text, read: read as u64, ended, replaced })
}

/// How many bytes at most make whole characters.
fn whole_characters(bytes: &[u8], encoding: &'static Encoding) -> usize {
    let len = bytes.len();
    if encoding == UTF_8 {
        let lead = (1..=len.min(3)).find(|back| bytes[len - back] & 0xc0 != 0x80);
        let complete = |back: usize| match bytes[len - back] {
            0xc0..=0xdf => back >= 2,
            0xe0..=0xef => back >= 3,
            0xf0..=0xff => false,
            _ => true,
        };
        return lead.filter(|back| !complete(*back)).map_or(len, |back| len - back);
    }
    let even = len - len % 2;
    let unit = |at: usize| {
        let pair = [bytes[at], bytes[at + 1]];
        if encoding == UTF_16LE { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
    };
    if even >= 2 && (0xd800..0xdc00).contains(&unit(even - 2)) { even - 2 } else { even }
}

/// Decodes with U+FFFD for what cannot be decoded, counting those.
fn decode(decoder: &mut encoding_rs::Decoder, bytes: &[u8], text: &mut String, last: bool) -> (DecoderResult, usize, u64) {
    let (mut at, mut replaced) = (0, 0);
    loop {
        let (result, read) = decoder.decode_to_string_without_replacement(&bytes[at..], text, last);
        at += read;
        match result {
            DecoderResult::Malformed(..) if text.capacity() - text.len() >= 3 => {
                text.push('\u{fffd}');
                replaced += 1;
            }
            DecoderResult::Malformed(..) => return (DecoderResult::OutputFull, at, replaced + 1),
            other => return (other, at, replaced),
        }
    }
}

/// Every other encoding: decoded from the start, because a byte in the middle does not say what it belongs to.
fn from_start(source: &mut Source<'_>, encoding: &'static Encoding, options: &ReadOptions) -> Result<Piece, FilesError> {
    if source.size > MAX_LEGACY {
        let what = format!("a file in {} of {} bytes", encoding.name(), source.size);
        let hint = "Convert it to UTF-8, which can be read at any size";
        return Err(FilesError::TooLarge { path: source.asked.to_owned(), what, limit: MAX_LEGACY, hint });
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut skipped = String::with_capacity(CHUNK * 4);
    let mut at = 0;
    while at < options.offset {
        let (bytes, _) = source.bytes(at, (options.offset - at).min(CHUNK as u64))?;
        if bytes.is_empty() {
            break;
        }
        skipped.clear();
        let (_, _, _) = decode(&mut decoder, &bytes, &mut skipped, false);
        at += bytes.len() as u64;
    }
    let mut piece = Piece { text: String::with_capacity(options.limit), read: 0, ended: false, replaced: 0 };
    while !piece.ended {
        let (bytes, ended) = source.bytes(at + piece.read, CHUNK as u64)?;
        let (result, read, replaced) = decode(&mut decoder, &bytes, &mut piece.text, ended);
        piece.read += read as u64;
        piece.replaced += replaced;
        if result != DecoderResult::InputEmpty {
            return Ok(piece);
        }
        piece.ended = ended;
    }
    Ok(piece)
}
