//! Which encoding a file's bytes are in, and whether they are text at all.
//!
//! In this order: byte order marks, valid UTF-8, UTF-16 without a mark, UTF-8 with a few damaged bytes, then a guess
//! among the legacy encodings that must decode the whole sample without an error. What cannot be told is an error:
//! replacement characters are never handed out silently.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// What a sample of bytes looks like.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Text in this encoding; `guessed` when only statistics say so.
    Text { encoding: &'static Encoding, guessed: bool },
    /// Not text; in words what it looks like.
    Binary(&'static str),
    /// Text, but in no encoding that can be told.
    Unknown(&'static str),
}

/// First bytes of formats that are not text, with what to call them.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"(\xb5/\xfd", "a zstd archive"),
    (b"\x7fELF", "a program (ELF)"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"OggS", "an Ogg recording"),
    (b"ID3", "an MP3 recording"),
];

/// Looks at the start of a file. `whole`: the sample is the whole file, so its end is not cut.
pub(crate) fn look_at(sample: &[u8], whole: bool) -> Content {
    if sample.starts_with(b"\xff\xfe\0\0") || sample.starts_with(b"\0\0\xfe\xff") {
        return Content::Unknown("it is UTF-32, which is not supported. Convert it to UTF-8 first");
    }
    if let Some((encoding, _)) = Encoding::for_bom(sample) {
        return Content::Text { encoding, guessed: false };
    }
    if let Some((_, what)) = SIGNATURES.iter().find(|(start, _)| sample.starts_with(start)) {
        return Content::Binary(what);
    }
    let controls = sample.iter().filter(|byte| is_odd_control(**byte)).count();
    let (valid, invalid) = utf8_count(sample, whole);
    // ISO-2022-JP is ASCII with escape sequences.
    if sample.is_ascii() && (contains(sample, b"\x1b$B") || contains(sample, b"\x1b$@")) {
        return legacy(sample, whole);
    }
    if invalid == 0 && controls * 10 <= sample.len() {
        return Content::Text { encoding: UTF_8, guessed: false };
    }
    if let Some(encoding) = utf16_without_mark(sample) {
        return Content::Text { encoding, guessed: true };
    }
    if sample.contains(&0) || controls * 200 > sample.len() {
        return Content::Binary("binary data");
    }
    // A damaged character is up to four wrong bytes; in legacy text hardly any character is right by chance.
    if valid >= invalid * 2 {
        return Content::Text { encoding: UTF_8, guessed: true };
    }
    legacy(sample, whole)
}

fn contains(sample: &[u8], part: &[u8]) -> bool {
    sample.windows(part.len()).any(|window| window == part)
}

/// Control characters that text does not have (it has tab, line ends, form feed, escape, backspace).
fn is_odd_control(byte: u8) -> bool {
    matches!(byte, 0..=7 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f)
}

/// How many characters of several bytes are right, and how many bytes are wrong.
fn utf8_count(sample: &[u8], whole: bool) -> (usize, usize) {
    let (mut valid, mut invalid, mut at) = (0, 0, 0);
    for chunk in sample.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        at += chunk.valid().len() + chunk.invalid().len();
        let cut = !whole && at == sample.len();
        if !cut {
            invalid += chunk.invalid().len();
        }
    }
    (valid, invalid)
}

/// Text in Western scripts as UTF-16 has a NUL in nearly every other byte.
fn utf16_without_mark(sample: &[u8]) -> Option<&'static Encoding> {
    let pairs = sample.len() / 2;
    if pairs < 2 {
        return None;
    }
    let nul = |at: usize| sample.chunks_exact(2).filter(|pair| pair[at] == 0).count();
    let (first, second) = (nul(0), nul(1));
    let encoding = match () {
        () if second * 10 >= pairs * 4 && first * 50 <= pairs => UTF_16LE,
        () if first * 10 >= pairs * 4 && second * 50 <= pairs => UTF_16BE,
        () => return None,
    };
    let (text, wrong) = encoding.decode_without_bom_handling(&sample[..pairs * 2]);
    let odd = text.chars().filter(|c| c.is_ascii() && is_odd_control(*c as u8)).count();
    (!wrong && odd * 100 <= pairs).then_some(encoding)
}

fn legacy(sample: &[u8], whole: bool) -> Content {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, whole);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let room = decoder.max_utf8_buffer_length(sample.len()).unwrap_or(sample.len() * 3 + 16);
    let mut text = String::with_capacity(room);
    let (.., wrong) = decoder.decode_to_string(sample, &mut text, whole);
    if wrong {
        return Content::Unknown("its encoding cannot be told (it is not UTF-8). Pass encoding, e.g. \"gbk\" or \"windows-1252\"");
    }
    // C1 controls are what a Latin encoding makes of bytes that are no text at all.
    if text.chars().filter(|c| matches!(c, '\u{80}'..='\u{9f}')).count() * 50 > text.chars().count() {
        return Content::Binary("binary data");
    }
    Content::Text { encoding, guessed: true }
}

/// The encoding with this name. The names of the WHATWG encoding standard, in any case.
pub(crate) fn named(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label.trim().as_bytes())
}

/// Text in the bytes of an encoding. `Err` holds the first character it does not have.
pub(crate) fn encode(text: &str, encoding: &'static Encoding) -> Result<Vec<u8>, char> {
    if encoding == UTF_16LE {
        return Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
    }
    if encoding == UTF_16BE {
        return Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
    }
    let (bytes, _, missing) = encoding.encode(text);
    if !missing {
        return Ok(bytes.into_owned());
    }
    let lacks = |c: &char| encoding.encode(c.encode_utf8(&mut [0; 4])).2;
    Err(text.chars().find(lacks).unwrap_or('\u{fffd}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sample: &[u8]) -> (String, bool) {
        match look_at(sample, true) {
            Content::Text { encoding, guessed } => (encoding.name().to_owned(), guessed),
            other => panic!("{other:?}"),
        }
    }

    fn encoded(text: &str, label: &str) -> Vec<u8> {
        encode(text, named(label).unwrap()).unwrap()
    }

    #[test]
    fn legacy_encodings_are_told_apart() {
        for (text, label, name) in [
            ("明天下午开会，请准时参加。\n", "gbk", "GBK"),
            ("会議は木曜日の午後です。カタカナ\n", "shift_jis", "Shift_JIS"),
            ("Ça coûte très cher, déjà vu\n", "latin1", "windows-1252"),
            ("Съешь же ещё этих мягких французских булок\n", "windows-1251", "windows-1251"),
            ("明天下午開會，請準時參加。\n", "big5", "Big5"),
        ] {
            let bytes = encoded(text, label);
            assert_eq!(of(&bytes), (name.to_owned(), true), "{text}");
            assert_eq!(named(name).unwrap().decode_without_bom_handling(&bytes).0, text);
        }
    }

    #[test]
    fn unicode_forms_are_told_apart() {
        assert_eq!(of("naïve 漢字".as_bytes()), ("UTF-8".into(), false));
        assert_eq!(of(b"\xef\xbb\xbfx"), ("UTF-8".into(), false));
        assert_eq!(of(b"\xff\xfeA\0"), ("UTF-16LE".into(), false));
        assert_eq!(of(&encoded("Hello there\r\n", "utf-16le")), ("UTF-16LE".into(), true));
        assert_eq!(of(&encoded("Hello there\r\n", "utf-16be")), ("UTF-16BE".into(), true));
        assert_eq!(of("größer und schöner als früher \u{fd}".as_bytes()), ("UTF-8".into(), false));
        let mut damaged = "größer und schöner als früher, über alle Maße".as_bytes().to_vec();
        damaged[2] = 0xff;
        assert_eq!(of(&damaged), ("UTF-8".into(), true));
        assert!(matches!(look_at(b"\xff\xfe\0\0A\0\0\0", true), Content::Unknown(_)));
        assert_eq!(of(b""), ("UTF-8".into(), false));
        // Cut in the middle of a character by the end of the sample.
        assert!(matches!(look_at(&"漢".as_bytes()[..2], false), Content::Text { guessed: false, .. }));
    }

    #[test]
    fn what_is_no_text_is_named() {
        assert_eq!(look_at(b"\x89PNG\r\n\x1a\n....", true), Content::Binary("a PNG picture"));
        assert!(matches!(look_at(&[0u8; 64], true), Content::Binary(_)));
        let noise: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(matches!(look_at(&noise, true), Content::Binary(_)));
    }

    #[test]
    fn a_character_the_encoding_lacks_is_named() {
        assert_eq!(encode("a€b漢", named("windows-1252").unwrap()), Err('漢'));
        assert_eq!(encode("\u{feff}x", UTF_16LE).unwrap(), b"\xff\xfex\0");
    }
}
