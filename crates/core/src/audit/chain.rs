//! Writing the log.

use super::AuditError;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::broadcast;

/// What the first line of a log follows.
pub(super) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The open log. Writes are ordered by a lock held for one `write` call.
pub struct Audit {
    writer: Mutex<Writer>,
    lines: broadcast::Sender<Value>,
}

struct Writer {
    file: Option<(File, PathBuf)>,
    seq: u64,
    hash: String,
}

impl Audit {
    /// Opens (or begins) the log at `path`, readable by its owner alone.
    ///
    /// # Errors
    /// [`AuditError::Io`] when the file cannot be read or written.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        let io = |source| AuditError::Io { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(io)?;
        let (last, torn) = tail(&mut file).map_err(io)?;
        let parsed: Option<Value> = last.and_then(|l| serde_json::from_slice(&l).ok());
        let seq = parsed.as_ref().and_then(|v| v["seq"].as_u64()).unwrap_or(0);
        let hash = parsed.as_ref().and_then(|v| v["hash"].as_str()).unwrap_or(GENESIS).to_owned();
        if !torn.is_empty() {
            file.write_all(b"\n").map_err(io)?;
        }
        let audit =
            Self { writer: Mutex::new(Writer { file: Some((file, path.to_owned())), seq, hash }), lines: broadcast::channel(256).0 };
        if !torn.is_empty() {
            audit.append("torn", json!({ "digest": hex::encode(Sha256::digest(&torn)) }))?;
        }
        Ok(audit)
    }

    /// A log that is kept nowhere, for tests.
    #[must_use]
    pub fn nowhere() -> Self {
        Self { writer: Mutex::new(Writer { file: None, seq: 0, hash: GENESIS.to_owned() }), lines: broadcast::channel(256).0 }
    }

    /// Empties the log. Its first line then says that this was done, after how many lines, and the hash of the last one.
    ///
    /// # Errors
    /// [`AuditError::Io`] when it could not be emptied.
    pub fn clear(&self) -> Result<(), AuditError> {
        let mut writer = self.writer.lock();
        if let Some((file, path)) = &mut writer.file {
            file.set_len(0).map_err(|source| AuditError::Io { path: path.clone(), source })?;
        }
        let before = json!({ "lines": writer.seq, "last": writer.hash });
        writer.seq = 0;
        writer.hash = GENESIS.to_owned();
        drop(writer);
        self.append("cleared", before)
    }

    /// Every line written from now on, as an activity page shows it. A slow reader misses lines, the log does not.
    #[must_use]
    pub fn lines(&self) -> broadcast::Receiver<Value> {
        self.lines.subscribe()
    }

    /// Appends one line. `fields` must be an object; `event` says what it records.
    ///
    /// # Errors
    /// [`AuditError::Io`] when it could not be written whole.
    pub fn append(&self, event: &str, fields: Value) -> Result<(), AuditError> {
        let mut writer = self.writer.lock();
        let mut line = Map::new();
        line.insert("seq".into(), (writer.seq + 1).into());
        line.insert("time".into(), millis().into());
        line.insert("event".into(), event.into());
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        line.insert("prev".into(), writer.hash.clone().into());
        let hash = digest(&line);
        line.insert("hash".into(), hash.clone().into());
        let line = Value::Object(line);
        if let Some((file, path)) = &writer.file {
            let mut bytes = line.to_string().into_bytes();
            bytes.push(b'\n');
            let length = file.metadata().map(|m| m.len());
            let undo = || length.and_then(|length| file.set_len(length));
            whole_or_nothing(file, &bytes, undo).map_err(|source| AuditError::Io { path: path.clone(), source })?;
        }
        writer.seq += 1;
        writer.hash = hash;
        drop(writer);
        let _ = self.lines.send(line);
        Ok(())
    }
}

/// Writes all of it, or takes back what a full disk took of it, so that the next line begins where it should.
fn whole_or_nothing(mut to: impl Write, bytes: &[u8], undo: impl FnOnce() -> std::io::Result<()>) -> std::io::Result<()> {
    to.write_all(bytes).inspect_err(|_| {
        let _ = undo();
    })
}

/// The hash of a line: SHA-256 over its JSON without the `hash` field.
pub(super) fn digest(line: &Map<String, Value>) -> String {
    let text = serde_json::to_vec(line).unwrap_or_default();
    hex::encode(Sha256::digest(text))
}

/// Milliseconds since 1970, the unit of `time` in the log.
fn millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// The last whole line, and what follows it without a line end.
fn tail(file: &mut File) -> std::io::Result<(Option<Vec<u8>>, Vec<u8>)> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut want = 64 * 1024;
    loop {
        let from = length.saturating_sub(want);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        Read::by_ref(file).take(length - from).read_to_end(&mut bytes)?;
        let end = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        let torn = bytes.split_off(end);
        bytes.pop();
        let start = bytes.iter().rposition(|b| *b == b'\n').map(|i| i + 1);
        match start {
            Some(start) => return Ok((Some(bytes.split_off(start)), torn)),
            None if from == 0 => return Ok(((!bytes.is_empty()).then_some(bytes), torn)),
            None => want *= 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that is full after so many bytes.
    struct Disk<'f>(&'f File, usize);

    impl Write for Disk<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.1 == 0 {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            let written = self.0.write(&bytes[..self.1.min(bytes.len())])?;
            self.1 -= written;
            Ok(written)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_leaves_no_half_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
        let put = |bytes: &[u8], room: usize| {
            let length = file.metadata().unwrap().len();
            whole_or_nothing(Disk(&file, room), bytes, || file.set_len(length))
        };
        put(b"one\n", 100).unwrap();
        for room in 0..4 {
            assert_eq!(put(b"two\n", room).unwrap_err().kind(), std::io::ErrorKind::StorageFull);
        }
        put(b"three\n", 100).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\nthree\n");
    }
}
