//! Skills: folders with a SKILL.md, one set shared and one per user.

use std::path::Path;

use serde::Serialize;

/// Longest SKILL.md that is read, in bytes.
const LONGEST: u64 = 256 << 10;
/// Skills listed at most.
const MOST: usize = 200;

/// One skill.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Skill {
    /// From the front matter, else the folder's name.
    pub name: String,
    /// From the front matter, else the first line of text.
    pub description: String,
    /// `shared` or `own`.
    pub scope: &'static str,
    /// The whole SKILL.md.
    pub content: String,
}

/// The skills of `user` below `root`: `shared/*` first, then `users/USER/*`, each by folder name. A skill of the
/// user's own replaces the shared one of that name.
#[must_use]
pub(crate) fn list(root: &Path, user: &str) -> Vec<Skill> {
    let mut skills = read_folder(&root.join("shared"), "shared");
    for own in read_folder(&root.join("users").join(user), "own") {
        skills.retain(|skill| skill.name != own.name);
        skills.push(own);
    }
    skills.truncate(MOST);
    skills
}

fn read_folder(folder: &Path, scope: &'static str) -> Vec<Skill> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names.into_iter().take(MOST).filter_map(|name| read(&folder.join(&name), name, scope)).collect()
}

fn read(folder: &Path, folder_name: String, scope: &'static str) -> Option<Skill> {
    let path = folder.join("SKILL.md");
    // A link could lead to any file of the gateway's user: only a plain file counts.
    let meta = std::fs::symlink_metadata(&path).ok()?;
    if !meta.is_file() || meta.len() > LONGEST {
        return None;
    }
    let content = std::fs::read_to_string(&path).ok()?;
    let (front, body) = front_matter(&content);
    let field = |name: &str| {
        let line = front.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let value = line.trim().trim_matches(['"', '\'']);
        (!value.is_empty()).then(|| value.to_owned())
    };
    let first = || body.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    let description = field("description").or_else(|| first().map(str::to_owned)).unwrap_or_default();
    Some(Skill { name: field("name").unwrap_or(folder_name), description, scope, content })
}

/// The lines between two `---`, if the text begins with one, and the rest.
fn front_matter(text: &str) -> (&str, &str) {
    let opened = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
    match opened.and_then(|rest| rest.split_once("\n---")) {
        Some((front, body)) => (front, body.trim_start_matches('-')),
        None => ("", text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_are_read_and_own_ones_win() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("shared/mail/SKILL.md", "---\nname: mail\ndescription: \"Writes mail\"\n---\n# Body");
        put("shared/plain/SKILL.md", "# How to tidy up\nText");
        put("shared/empty/README.md", "no skill");
        put("users/ana/mail/SKILL.md", "---\nname: mail\ndescription: Ana's way\n---\n");
        let describe = |user: &str| -> Vec<(String, String, &str)> {
            list(dir.path(), user).into_iter().map(|skill| (skill.name, skill.description, skill.scope)).collect()
        };
        let shared = ("plain".to_owned(), "How to tidy up".to_owned(), "shared");
        assert_eq!(describe("bob"), [("mail".into(), "Writes mail".into(), "shared"), shared.clone()]);
        assert_eq!(describe("ana"), [shared, ("mail".into(), "Ana's way".into(), "own")]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_no_skill() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("shared/bad")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("shared/bad/SKILL.md")).unwrap();
        assert!(list(dir.path(), "ana").is_empty());
    }
}
