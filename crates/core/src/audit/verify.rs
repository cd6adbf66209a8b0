//! Checking the log.

use super::AuditError;
use super::chain::{GENESIS, digest};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// What a whole log says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Lines that are what was written.
    pub lines: u64,
    /// Lines that a crash cut short, each accounted for by the line after it.
    pub torn: u64,
}

/// Reads the whole log and checks every link of its chain.
///
/// # Errors
/// [`AuditError::Broken`] with the first line that does not hold; [`AuditError::Io`] when it cannot be read.
pub fn verify(path: &Path) -> Result<Verified, AuditError> {
    let io = |source| AuditError::Io { path: path.to_owned(), source };
    let mut reader = BufReader::new(File::open(path).map_err(io)?);
    let mut state = State { prev: GENESIS.to_owned(), seq: 0, torn: None, verified: Verified { lines: 0, torn: 0 } };
    let mut number = 0;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes).map_err(io)? == 0 {
            break;
        }
        number += 1;
        let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        state.line(line).map_err(|why| AuditError::Broken { path: path.to_owned(), line: number, why })?;
    }
    match state.torn {
        // Only the very last line may still wait for the record that accounts for it: the worker has not started since.
        Some(_) if bytes.last() == Some(&b'\n') => {
            Err(AuditError::Broken { path: path.to_owned(), line: number, why: "it is not a record".into() })
        }
        _ => Ok(state.verified),
    }
}

struct State {
    prev: String,
    seq: u64,
    torn: Option<String>,
    verified: Verified,
}

impl State {
    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        let Ok(Value::Object(mut map)) = serde_json::from_slice::<Value>(line) else {
            return match self.torn.replace(hex::encode(Sha256::digest(line))) {
                None => Ok(()),
                Some(_) => Err("two lines in a row are not records".into()),
            };
        };
        if let Some(torn) = self.torn.take() {
            if map.get("event") != Some(&"torn".into()) || map.get("digest").and_then(Value::as_str) != Some(&torn) {
                return Err("the line before it is not a record, and this one does not account for it".into());
            }
            self.verified.torn += 1;
        }
        self.link(&mut map)
    }

    fn link(&mut self, map: &mut Map<String, Value>) -> Result<(), String> {
        let hash = map.shift_remove("hash").and_then(|h| h.as_str().map(str::to_owned)).ok_or("it has no hash")?;
        if map.get("seq").and_then(Value::as_u64) != Some(self.seq + 1) {
            return Err(format!("its number should be {}", self.seq + 1));
        }
        if map.get("prev").and_then(Value::as_str) != Some(&self.prev) {
            return Err("it does not follow the line before it".into());
        }
        if digest(map) != hash {
            return Err("its hash does not fit its text".into());
        }
        self.prev = hash;
        self.seq += 1;
        self.verified.lines += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Audit;
    use serde_json::json;
    use std::fs;

    fn log(n: u64) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let audit = Audit::open(&path).unwrap();
        for i in 0..n {
            audit.append("start", json!({"tool": "t", "n": i, "time_like": 1.5, "汉": "字"})).unwrap();
        }
        (dir, path)
    }

    #[test]
    fn an_emptied_log_says_so_and_holds() {
        let (_dir, path) = log(3);
        let audit = Audit::open(&path).unwrap();
        audit.clear().unwrap();
        audit.append("start", json!({})).unwrap();
        let first: Value = serde_json::from_str(fs::read_to_string(&path).unwrap().lines().next().unwrap()).unwrap();
        assert_eq!((&first["event"], &first["lines"], &first["seq"]), (&json!("cleared"), &json!(3), &json!(1)));
        assert_eq!(verify(&path).unwrap().lines, 2);
    }

    #[test]
    fn a_log_holds_across_starts() {
        let (_dir, path) = log(3);
        Audit::open(&path).unwrap().append("end", json!({})).unwrap();
        assert_eq!(verify(&path).unwrap(), Verified { lines: 4, torn: 0 });
    }

    #[test]
    fn a_changed_removed_or_inserted_line_is_named() {
        let (_dir, path) = log(4);
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        for (changed, at) in [
            (text.replace("\"n\":1", "\"n\":9"), 2),
            ([lines[0], lines[2], lines[3]].join("\n"), 2),
            ([lines[0], lines[1], lines[1], lines[2]].join("\n"), 3),
            (format!("{}\nnoise\n{}\n", lines[0], lines[1]), 3),
        ] {
            fs::write(&path, changed).unwrap();
            let Err(AuditError::Broken { line, .. }) = verify(&path) else { panic!("not noticed") };
            assert_eq!(line, at);
        }
    }

    #[test]
    fn a_line_cut_short_by_a_crash_is_accounted_for_by_the_next_start() {
        let (_dir, path) = log(2);
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 20]).unwrap();
        assert_eq!(verify(&path).unwrap().lines, 1);
        Audit::open(&path).unwrap().append("start", json!({})).unwrap();
        assert_eq!(verify(&path).unwrap(), Verified { lines: 3, torn: 1 });
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let (_dir, path) = log(1);
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
