//! Names of keys, as the people and programs that ask for them write them.
//!
//! xdotool says `Page_Down`, pyautogui `pagedown`, the DOM `PageDown`, people `PgDn`: all of them are one key here. Case,
//! `_`, `-` and spaces inside a name do not matter. A single character is the key that types it. The table below is the
//! whole list of names; an error for an unknown one shows it.

use std::fmt;

use super::key_names::{NAMED, PUNCTUATION};
use crate::{Error, Result};

/// A key asked for by meaning, not by place: `c` is the key that gives c on the layout in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// The key that types this character.
    Char(char),
    /// A key with a name: Return, Control, F5.
    Named(&'static Named),
    /// A key known to the system only, by its X keysym.
    Keysym(u32),
}

/// A key that types nothing.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Named {
    /// As errors and results show it.
    pub name: &'static str,
    /// Its X keysym, which serves as its number on every system.
    pub keysym: u32,
    /// Other names, in lower case and without separators.
    pub aliases: &'static [&'static str],
}

impl Key {
    /// Reads one name.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the names that are known.
    pub fn parse(name: &str) -> Result<Self> {
        // `page-down`. Only when nothing else fits, for `ctrl-l` is a chord and not the left Control key.
        Self::exact(name).or_else(|error| Self::exact(&name.replace('-', "")).map_err(|_| error))
    }

    fn exact(name: &str) -> Result<Self> {
        let mut chars = name.chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            return Ok(match c {
                '\n' | '\r' => Self::named("enter")?,
                '\t' => Self::named("tab")?,
                c if c.is_control() => return Err(unknown(name)),
                c => Self::Char(c),
            });
        }
        Self::named(name)
    }

    fn named(name: &str) -> Result<Self> {
        let wanted: String = name.trim().chars().filter(|c| !matches!(c, '_' | ' ')).flat_map(char::to_lowercase).collect();
        if wanted.is_empty() {
            return if name.is_empty() { Err(unknown(name)) } else { Ok(Self::Char(' ')) };
        }
        if let Some(key) = NAMED.iter().find(|k| squeezed(k.name) == wanted || k.aliases.contains(&wanted.as_str())) {
            return Ok(Self::Named(key));
        }
        if let Some((c, _)) = PUNCTUATION.iter().find(|(_, names)| names.contains(&wanted.as_str())) {
            return Ok(Self::Char(*c));
        }
        // `KeyA` and `Digit1` of the DOM.
        for prefix in ["key", "digit"] {
            if let Some(rest) = wanted.strip_prefix(prefix)
                && let (Some(c), true) = (rest.chars().next(), rest.len() == 1)
                && c.is_ascii_alphanumeric()
            {
                return Ok(Self::Char(c));
            }
        }
        by_x_name(&wanted).map(Self::Keysym).ok_or_else(|| unknown(name))
    }

    /// Shift, Control, Alt, AltGr or Super, left or right.
    #[must_use]
    pub fn is_modifier(self) -> bool {
        matches!(self, Self::Named(n) if matches!(n.keysym, 0xffe1..=0xffe4 | 0xffe7..=0xffee | 0xfe03))
    }

    /// A modifier that turns a letter into a shortcut: any but Shift and AltGr.
    #[must_use]
    pub fn makes_shortcut(self) -> bool {
        matches!(self, Self::Named(n) if matches!(n.keysym, 0xffe3 | 0xffe4 | 0xffe7..=0xffee))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Char(' ') => f.write_str("space"),
            Self::Char(c) => write!(f, "{c}"),
            Self::Named(n) => f.write_str(n.name),
            Self::Keysym(sym) => write!(f, "keysym 0x{sym:x}"),
        }
    }
}

/// Reads keys that are pressed together: `["ctrl", "c"]`, `["ctrl+c"]`, `["Control++"]`, `["+"]`. Order is kept.
///
/// # Errors
/// [`Error::Invalid`] when there is none, or with the names that are known.
pub fn chord<S: AsRef<str>>(names: &[S]) -> Result<Vec<Key>> {
    let mut keys = Vec::new();
    for name in names {
        let name = name.as_ref();
        match (Key::exact(name), joined(name)) {
            (Ok(key), _) => keys.push(key),
            (Err(_), Some(together)) => keys.extend(together),
            (Err(_), None) => keys.push(Key::parse(name)?),
        }
    }
    if keys.is_empty() {
        return Err(Error::Invalid(format!("no key to press; give names such as [\"ctrl\", \"c\"] or [\"enter\"]. {}", known())));
    }
    let mut unique = Vec::with_capacity(keys.len());
    for key in keys {
        if !unique.contains(&key) {
            unique.push(key);
        }
    }
    Ok(unique)
}

/// `ctrl+c`, `ctrl++`, and `ctrl-c` for those who write it so.
fn joined(name: &str) -> Option<Vec<Key>> {
    ['+', '-'].into_iter().find_map(|sign| {
        let (rest, last) = match name.strip_suffix(sign) {
            // The sign itself is the last key.
            Some(rest) => (rest.strip_suffix(sign)?, Some(Key::Char(sign))),
            None => (name, None),
        };
        let keys: Option<Vec<Key>> = rest.split(sign).map(|part| Key::exact(part.trim()).ok()).collect();
        let mut keys = keys.filter(|k| k.len() > 1 || last.is_some())?;
        keys.extend(last);
        Some(keys)
    })
}

pub(super) fn squeezed(name: &str) -> String {
    name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

fn unknown(name: &str) -> Error {
    Error::Invalid(format!("there is no key named {name:?}. {}", known()))
}

fn known() -> String {
    let names: Vec<&str> = NAMED.iter().map(|k| k.name).collect();
    format!("Keys are single characters (a, 7, +, é), joined with + for chords (ctrl+shift+t), and these names: {}", names.join(", "))
}

#[cfg(target_os = "linux")]
fn by_x_name(wanted: &str) -> Option<u32> {
    use std::collections::HashMap;
    use std::sync::LazyLock;
    static ALL: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
        let syms = (0x20..0xffff).chain(0x1008_fe00..0x1008_ffff);
        let names = syms.filter_map(|s| Some((squeezed(xkeysym::Keysym::new(s).name()?.trim_start_matches("XK_")), s)));
        // Later ones do not replace earlier ones: `a` and `A` squeeze to the same name.
        let mut all = HashMap::new();
        for (name, sym) in names {
            all.entry(name).or_insert(sym);
        }
        all
    });
    ALL.get(wanted).copied()
}

#[cfg(not(target_os = "linux"))]
fn by_x_name(_wanted: &str) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(s: &str) -> String {
        Key::parse(s).unwrap().to_string()
    }

    #[test]
    fn names_of_all_traditions_are_one_key() {
        for s in ["Page_Down", "pagedown", "PageDown", "PgDn", "PGDN", "page down", "next", "Next"] {
            assert_eq!(name(s), "Page_Down", "{s}");
        }
        for s in ["enter", "Return", "RETURN", "return", "\n"] {
            assert_eq!(name(s), "Return", "{s}");
        }
        for (s, want) in [
            ("esc", "Escape"),
            ("del", "Delete"),
            ("KP_Enter", "KP_Enter"),
            ("ctrl", "Control"),
            ("ControlLeft", "Control"),
            ("cmd", "Super"),
            ("win", "Super"),
            ("Meta", "Super"),
            ("option", "Alt"),
            ("AltGraph", "AltGr"),
            ("f13", "F13"),
            ("F24", "F24"),
            ("print_screen", "Print"),
            ("num_lock", "Num_Lock"),
            ("ArrowLeft", "Left"),
            ("KeyA", "a"),
            ("Digit7", "7"),
            ("space", "space"),
            ("Spacebar", "space"),
            ("plus", "+"),
            ("minus", "-"),
            ("volumeup", "Volume_Up"),
            ("XF86AudioMute", "Volume_Mute"),
            ("é", "é"),
            ("+", "+"),
            (" ", "space"),
        ] {
            assert_eq!(name(s), want, "{s}");
        }
    }

    #[test]
    fn the_plus_key_survives_splitting() {
        let chords = [
            ("ctrl++", "Control +"),
            ("Control++", "Control +"),
            ("+", "+"),
            ("ctrl+shift+t", "Control Shift t"),
            ("ctrl-c", "Control c"),
            ("ctrl-l", "Control l"),
            ("page-down", "Page_Down"),
            ("ctrl--", "Control -"),
        ];
        for (s, want) in chords {
            let keys: Vec<String> = chord(&[s]).unwrap().iter().map(ToString::to_string).collect();
            assert_eq!(keys.join(" "), want, "{s}");
        }
        assert_eq!(chord(&["ctrl", "+"]).unwrap().len(), 2);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        for s in ["entre", "", "ctrl+entre", "ctrl+", "\u{7}"] {
            let text = chord(&[s]).unwrap_err().to_string();
            assert!(text.contains("Return") && text.contains("Escape"), "{s}: {text}");
        }
        assert!(chord::<&str>(&[]).is_err());
    }
}
