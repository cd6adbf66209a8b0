//! Who may import whom, as Cargo itself understands the manifests. Development dependencies do not count: what only
//! tests link is not in the product.

use super::{hold, root};
use serde_json::Value;
use std::process::Command;

/// What each package of ours may import of ours. `crates/ARCHITECTURE.md` says why.
const MAY_IMPORT: [(&str, &[&str]); 12] = [
    ("deskhand", &["app", "connect", "gateway"]),
    ("deskhand-tray", &["app", "connect"]),
    ("deskhand-app", &["core", "mcp", "executor", "tools", "desktop", "browser", "files"]),
    ("deskhand-mcp", &["core"]),
    ("deskhand-executor", &["core"]),
    ("deskhand-tools", &["core", "desktop", "browser", "files"]),
    ("deskhand-gateway", &["mcp", "core"]),
    ("deskhand-core", &[]),
    ("deskhand-desktop", &[]),
    ("deskhand-browser", &[]),
    ("deskhand-files", &[]),
    ("deskhand-connect", &[]),
];

/// Libraries that one package of ours alone may name, so that changing one changes one crate.
const BELONGS_TO: [(&str, &str); 7] = [
    ("xcap", "deskhand-desktop"),
    ("enigo", "deskhand-desktop"),
    ("leptess", "deskhand-desktop"),
    ("x11rb", "deskhand-desktop"),
    ("chromiumoxide", "deskhand-browser"),
    ("rmcp", "deskhand-mcp"),
    ("tauri", "deskhand-tray"),
];

/// Every package of the repository.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// What the package needs to be built and run, by the packages' own names.
fn imports(package: &Value) -> impl Iterator<Item = &str> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    all.filter(|dependency| dependency["kind"] != "dev").filter_map(|dependency| dependency["name"].as_str())
}

fn allowed(package: &Value) -> Option<&'static [&'static str]> {
    MAY_IMPORT.iter().find(|(name, _)| package["name"] == *name).map(|(_, allowed)| *allowed)
}

#[test]
fn packages_import_what_the_map_allows() {
    let packages = packages();
    let mut breaches = Vec::new();
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        let Some(allowed) = allowed(package) else {
            breaches.push(format!("{name} is not on the map of imports"));
            continue;
        };
        for import in imports(package).filter(|import| import.starts_with("deskhand")) {
            if !import.strip_prefix("deskhand-").is_some_and(|short| allowed.contains(&short)) {
                breaches.push(format!("{name} imports {import}"));
            }
        }
    }
    for (name, _) in MAY_IMPORT {
        if !packages.iter().any(|package| package["name"] == name) {
            breaches.push(format!("{name} is on the map of imports and not in the repository"));
        }
    }
    hold("who may import whom", &breaches);
}

#[test]
fn one_crate_alone_names_each_library() {
    let mut breaches = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        for import in imports(&package) {
            for (library, owner) in BELONGS_TO {
                if import == library && name != owner {
                    breaches.push(format!("{name} names {library}, which is {owner}'s"));
                }
            }
        }
    }
    hold("libraries that one crate alone names", &breaches);
}
