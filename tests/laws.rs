//! The laws of the repository that no compiler holds: who may import whom, what the tools must keep promising, what is
//! generated, and the house rules that can be counted.
//!
//! Each law tells every breach at once, with the file or tool, so that one run is enough to mend them.

mod contract;
mod imports;
mod pages;
mod repository;

use std::path::Path;
use std::process::Command;

/// The repository's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What `deskhand tools --format FORMAT` prints.
fn printed(format: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_deskhand")).args(["tools", "--format", format]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Fails with every breach of `law`, one a line.
fn hold(law: &str, breaches: &[String]) {
    assert!(breaches.is_empty(), "{law}:\n{}", breaches.join("\n"));
}
