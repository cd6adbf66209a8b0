//! Permission groups: what the person switches on and off, in the words shown to them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What a tool belongs to; the person allows groups, not tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Look at the screen.
    Screen,
    /// Move and click the mouse.
    Mouse,
    /// Type and press keys.
    Keyboard,
    /// Read files in the allowed folders.
    FileRead,
    /// Write files in the allowed folders.
    FileWrite,
    /// See names and sizes of files in the allowed folders.
    FileList,
    /// Look at pages in the browser.
    BrowserRead,
    /// Click, type and navigate in the browser.
    BrowserAct,
    /// Run scripts in pages.
    BrowserScript,
    /// Tools of other MCP servers.
    Extra,
}

impl Group {
    /// Every group, in the order shown to the person.
    pub const ALL: [Self; 10] = [
        Self::Screen,
        Self::Mouse,
        Self::Keyboard,
        Self::FileRead,
        Self::FileWrite,
        Self::FileList,
        Self::BrowserRead,
        Self::BrowserAct,
        Self::BrowserScript,
        Self::Extra,
    ];

    /// The name on the command line, on the wire and in the audit log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Screen => "screen",
            Self::Mouse => "mouse",
            Self::Keyboard => "keyboard",
            Self::FileRead => "file_read",
            Self::FileWrite => "file_write",
            Self::FileList => "file_list",
            Self::BrowserRead => "browser_read",
            Self::BrowserAct => "browser_act",
            Self::BrowserScript => "browser_script",
            Self::Extra => "extra",
        }
    }

    /// What it lets an agent do, in plain words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Screen => "See what is on your screen, and read its text",
            Self::Mouse => "Move the mouse, click, drag and scroll",
            Self::Keyboard => "Type text and press keys",
            Self::FileRead => "Read files in the folders you allowed",
            Self::FileWrite => "Create and overwrite files in the folders you allowed",
            Self::FileList => "See the names and sizes of files in the folders you allowed",
            Self::BrowserRead => "See the pages in the browser tabs it works in",
            Self::BrowserAct => "Open pages, click and type in the browser tabs it works in",
            Self::BrowserScript => "Run its own scripts in the pages it works in",
            Self::Extra => "Use the tools of other MCP servers that you added",
        }
    }

    /// Off until the person switches it on: what can lose data, and what others wrote.
    #[must_use]
    pub fn off_by_default(self) -> bool {
        matches!(self, Self::FileWrite | Self::Extra)
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Group {
    type Err = String;

    /// # Errors
    /// Lists the valid names when `s` is none of them.
    fn from_str(s: &str) -> Result<Self, String> {
        let wanted = s.trim().replace('-', "_").to_ascii_lowercase();
        Self::ALL.into_iter().find(|g| g.name() == wanted).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|g| g.name()).collect();
            format!("no group is called {s:?}; the groups are {} and all", names.join(", "))
        })
    }
}

/// A set of groups.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct GroupSet(u16);

impl GroupSet {
    /// No group.
    pub const NONE: Self = Self(0);
    /// Every group, `file_write` and `extra` too.
    pub const ALL: Self = Self((1 << Group::ALL.len()) - 1);

    /// The groups that are off until the person switches them on.
    #[must_use]
    pub fn off_by_default() -> Self {
        Group::ALL.into_iter().filter(|g| g.off_by_default()).collect()
    }

    /// Whether `group` is in the set.
    #[must_use]
    pub fn has(self, group: Group) -> bool {
        self.0 & group.bit() != 0
    }

    /// Whether every group of `other` is in the set.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// What is in `self` and not in `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// What is in either.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether there is none in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The groups in the set, in the order shown to the person.
    pub fn iter(self) -> impl Iterator<Item = Group> {
        Group::ALL.into_iter().filter(move |g| self.has(*g))
    }

    /// Reads `GROUP,GROUP,…` or `all`.
    ///
    /// # Errors
    /// Names the first word that is no group, with the valid ones.
    pub fn parse(list: &str) -> Result<Self, String> {
        list.split(',').map(str::trim).filter(|w| !w.is_empty()).try_fold(Self::NONE, |set, word| {
            if word.eq_ignore_ascii_case("all") { Ok(Self::ALL) } else { Ok(set.with(word.parse::<Group>()?.into())) }
        })
    }
}

impl From<Group> for GroupSet {
    fn from(group: Group) -> Self {
        Self(group.bit())
    }
}

impl FromIterator<Group> for GroupSet {
    fn from_iter<I: IntoIterator<Item = Group>>(iter: I) -> Self {
        iter.into_iter().fold(Self::NONE, |set, g| set.with(g.into()))
    }
}

impl fmt::Display for GroupSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Group::name).collect();
        f.write_str(&names.join(", "))
    }
}

impl fmt::Debug for GroupSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GroupSet({self})")
    }
}

impl Serialize for GroupSet {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for GroupSet {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Vec::<Group>::deserialize(d)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_names_is_read_and_a_wrong_one_is_named() {
        assert_eq!(GroupSet::parse("screen, file-write").unwrap().to_string(), "screen, file_write");
        assert_eq!(GroupSet::parse("all").unwrap(), GroupSet::ALL);
        assert_eq!(GroupSet::parse("").unwrap(), GroupSet::NONE);
        assert!(GroupSet::parse("screen,mose").unwrap_err().contains("mose"));
    }

    #[test]
    fn what_can_lose_data_is_off_by_default() {
        assert_eq!(GroupSet::off_by_default().to_string(), "file_write, extra");
    }
}
