//! House rules that can be counted in the files themselves: length, names, `unsafe`, and that nothing in them belongs to
//! one machine.

use super::{hold, root};
use std::path::{Path, PathBuf};

/// Most lines of a source file, its tests included.
const LONGEST: usize = 400;

/// Files that break a rule, and why that is right. Nothing else is exempt.
const EXCEPTIONS: [(&str, Rule, &str); 1] =
    [("Cargo.lock", Rule::Machine, "Cargo writes it, with the address of the registry that each package came from")];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    Length,
    Name,
    Unsafe,
    Machine,
}

fn exempt(file: &str, rule: Rule) -> bool {
    EXCEPTIONS.iter().any(|(path, of, _)| *path == file && *of == rule)
}

/// Every file of the repository by its path from the root. What `.gitignore` names at the root is not of it.
fn files() -> Vec<String> {
    let ignored = std::fs::read_to_string(root().join(".gitignore")).unwrap();
    let ignored: Vec<PathBuf> = ignored.lines().filter_map(|line| line.strip_prefix('/')).map(|name| root().join(name)).collect();
    let mut folders = vec![root().to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if ignored.contains(&path) || entry.file_name() == ".git" || entry.file_name() == "node_modules" {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                files.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    files.sort();
    assert!(files.iter().any(|file| file == "tests/laws.rs"), "the repository was not read");
    files
}

/// The files that people write by hand as programs.
fn sources() -> impl Iterator<Item = String> {
    let kinds = ["rs", "js", "mjs", "ts", "css", "html", "py", "sh"];
    files().into_iter().filter(move |file| Path::new(file).extension().is_some_and(|kind| kinds.iter().any(|k| kind == *k)))
}

fn text(file: &str) -> String {
    String::from_utf8_lossy(&std::fs::read(root().join(file)).unwrap()).into_owned()
}

#[test]
fn source_files_are_short() {
    let long = |file: String| {
        let lines = text(&file).lines().count();
        (lines > LONGEST && !exempt(&file, Rule::Length)).then(|| format!("{file} has {lines} lines"))
    };
    hold("no source file is longer than 400 lines", &sources().filter_map(long).collect::<Vec<_>>());
}

#[test]
fn names_are_nouns_of_the_field() {
    let empty = ["utils", "util", "helpers", "helper", "manager", "common"];
    let said = |file: &String| {
        let path = Path::new(file).with_extension("");
        path.iter().any(|part| part.to_string_lossy().split(['_', '-']).any(|word| empty.contains(&word)))
    };
    hold(
        "no file or folder is called by what says nothing",
        &sources().filter(said).filter(|f| !exempt(f, Rule::Name)).collect::<Vec<_>>(),
    );
}

/// Whether the line, its comment cut off, has the word.
fn has_word(line: &str, word: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word)
}

#[test]
fn only_desktop_is_unsafe() {
    // Tests and examples end the processes they start, which the standard library cannot do by a signal.
    let free = ["crates/desktop/", "tests/", "examples/"];
    let mut breaches = Vec::new();
    for file in sources().filter(|file| file.ends_with(".rs") && !free.iter().any(|f| file.starts_with(f)) && !exempt(file, Rule::Unsafe)) {
        for (n, line) in text(&file).lines().enumerate() {
            if has_word(line, "unsafe") || has_word(line, "unsafe_code") {
                breaches.push(format!("{file}:{}: {}", n + 1, line.trim()));
            }
        }
    }
    hold("unsafe stands in desktop alone", &breaches);
}

#[test]
fn every_unsafe_block_of_desktop_says_why_it_is_sound() {
    let mut breaches = Vec::new();
    for file in sources().filter(|file| file.ends_with(".rs") && file.starts_with("crates/desktop/src/")) {
        let text = text(&file);
        let lines: Vec<&str> = text.lines().collect();
        for (n, line) in lines.iter().enumerate().filter(|(_, line)| has_word(line, "unsafe")) {
            if !lines[n.saturating_sub(6)..=n].iter().any(|near| near.contains("SAFETY:") || near.contains("# Safety")) {
                breaches.push(format!("{file}:{}: {}", n + 1, line.trim()));
            }
        }
    }
    hold("every unsafe has its SAFETY comment", &breaches);
}

#[test]
fn nothing_belongs_to_one_machine() {
    // Put together here, so that this file does not mention them either.
    let hosts = [
        ["crates", ".io"],
        ["npmjs", ".org"],
        ["npmjs", ".com"],
        ["npmmirror", ".com"],
        ["yarnpkg", ".com"],
        ["pypi", ".org"],
        ["pythonhosted", ".org"],
        ["golang", ".org"],
        ["rubygems", ".org"],
        ["debian", ".org"],
        ["ubuntu", ".com"],
        ["docker", ".io"],
        ["ghcr", ".io"],
    ]
    .map(|parts| parts.concat());
    let folder = ["/work", "/"].concat();
    let mut breaches = Vec::new();
    for file in files().into_iter().filter(|file| !exempt(file, Rule::Machine)) {
        let text = text(&file);
        for (n, line) in text.lines().enumerate() {
            let told = hosts.iter().find(|host| line.contains(host.as_str())).or((mentions(line, &folder)).then_some(&folder));
            if let Some(told) = told {
                breaches.push(format!("{file}:{}: {told}", n + 1));
            }
        }
    }
    hold("no registry and no folder of one machine is mentioned", &breaches);
}

/// Whether an absolute path in the line begins with `folder`; one in the middle of another path does not.
fn mentions(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}*".contains(c)))
}
