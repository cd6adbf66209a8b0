//! `deskhand audit verify|export`.

use anyhow::Result;
use clap::Subcommand;
use deskhand_app::{StateFolder, audit};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

/// See the module.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Check that no line of the log was changed, removed or inserted.
    Verify {
        #[command(flatten)]
        at: super::In,
        /// Another log than the state folder's.
        file: Option<PathBuf>,
    },
    /// Write the log to stdout as it is (JSON lines).
    Export {
        #[command(flatten)]
        at: super::In,
    },
}

impl Command {
    /// Exit code 1 when the log does not hold.
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::Verify { at, file } => {
                let path = match file {
                    Some(path) => path,
                    None => StateFolder::open(at.state_dir.as_deref())?.join("audit.jsonl"),
                };
                let verified = audit::verify(&path)?;
                let torn =
                    if verified.torn == 0 { String::new() } else { format!(", {} cut short by a crash and accounted for", verified.torn) };
                println!("{}: {} lines hold{torn}", path.display(), verified.lines);
            }
            Self::Export { at } => {
                let path = StateFolder::open(at.state_dir.as_deref())?.join("audit.jsonl");
                let mut out = std::io::stdout().lock();
                for line in BufReader::new(std::fs::File::open(path)?).lines() {
                    writeln!(out, "{}", line?)?;
                }
            }
        }
        Ok(())
    }
}
