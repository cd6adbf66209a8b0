//! Keys by name and by character: what Chrome wants to know of each. Characters are those of a US keyboard; what is not
//! on it is inserted as text.

/// One key as `Input.dispatchKeyEvent` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) key: String,
    pub(crate) code: String,
    /// Windows virtual key code, which pages read as `keyCode`.
    pub(crate) number: u32,
    /// What it types when no modifier but Shift is down.
    pub(crate) text: Option<String>,
    pub(crate) shift: bool,
    pub(crate) keypad: bool,
}

/// Names, aliases, code and number of the keys that type nothing.
const NAMED: [(&str, &str, u32, &[&str]); 42] = [
    ("Enter", "Enter", 13, &["return"]),
    ("Tab", "Tab", 9, &[]),
    ("Backspace", "Backspace", 8, &[]),
    ("Delete", "Delete", 46, &["del"]),
    ("Escape", "Escape", 27, &["esc"]),
    ("ArrowUp", "ArrowUp", 38, &["up"]),
    ("ArrowDown", "ArrowDown", 40, &["down"]),
    ("ArrowLeft", "ArrowLeft", 37, &["left"]),
    ("ArrowRight", "ArrowRight", 39, &["right"]),
    ("Home", "Home", 36, &[]),
    ("End", "End", 35, &[]),
    ("PageUp", "PageUp", 33, &["pgup"]),
    ("PageDown", "PageDown", 34, &["pgdn", "pgdown"]),
    ("Insert", "Insert", 45, &["ins"]),
    ("Shift", "ShiftLeft", 16, &[]),
    ("Control", "ControlLeft", 17, &["ctrl"]),
    ("Alt", "AltLeft", 18, &["option"]),
    ("Meta", "MetaLeft", 91, &["cmd", "command", "super", "win"]),
    ("CapsLock", "CapsLock", 20, &[]),
    ("NumLock", "NumLock", 144, &[]),
    ("ScrollLock", "ScrollLock", 145, &[]),
    ("Pause", "Pause", 19, &["break"]),
    ("PrintScreen", "PrintScreen", 44, &["prtsc"]),
    ("ContextMenu", "ContextMenu", 93, &["menu"]),
    ("F1", "F1", 112, &[]),
    ("F2", "F2", 113, &[]),
    ("F3", "F3", 114, &[]),
    ("F4", "F4", 115, &[]),
    ("F5", "F5", 116, &[]),
    ("F6", "F6", 117, &[]),
    ("F7", "F7", 118, &[]),
    ("F8", "F8", 119, &[]),
    ("F9", "F9", 120, &[]),
    ("F10", "F10", 121, &[]),
    ("F11", "F11", 122, &[]),
    ("F12", "F12", 123, &[]),
    ("MediaPlayPause", "MediaPlayPause", 179, &[]),
    ("MediaStop", "MediaStop", 178, &[]),
    ("MediaTrackNext", "MediaTrackNext", 176, &[]),
    ("MediaTrackPrevious", "MediaTrackPrevious", 177, &[]),
    ("AudioVolumeMute", "AudioVolumeMute", 173, &[]),
    ("BrowserBack", "BrowserBack", 166, &[]),
];

/// Characters besides letters and digits: the key's plain and shifted character, code and number.
const SIGNS: [(char, char, &str, u32); 21] = [
    ('`', '~', "Backquote", 192),
    ('-', '_', "Minus", 189),
    ('=', '+', "Equal", 187),
    ('[', '{', "BracketLeft", 219),
    (']', '}', "BracketRight", 221),
    ('\\', '|', "Backslash", 220),
    (';', ':', "Semicolon", 186),
    ('\'', '"', "Quote", 222),
    (',', '<', "Comma", 188),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
    ('1', '!', "Digit1", 49),
    ('2', '@', "Digit2", 50),
    ('3', '#', "Digit3", 51),
    ('4', '$', "Digit4", 52),
    ('5', '%', "Digit5", 53),
    ('6', '^', "Digit6", 54),
    ('7', '&', "Digit7", 55),
    ('8', '*', "Digit8", 56),
    ('9', '(', "Digit9", 57),
    ('0', ')', "Digit0", 48),
];

impl Key {
    fn character(c: char, code: String, number: u32, shift: bool) -> Self {
        Self { key: c.to_string(), code, number, text: Some(c.to_string()), shift, keypad: false }
    }

    /// The key that types this character; none when a US keyboard has no such key.
    pub(crate) fn of_char(c: char) -> Option<Self> {
        match c {
            ' ' => Some(Self::character(' ', "Space".to_owned(), 32, false)),
            '\n' | '\r' => Self::named("Enter"),
            'a'..='z' | 'A'..='Z' => {
                let upper = c.to_ascii_uppercase();
                Some(Self::character(c, format!("Key{upper}"), u32::from(upper), c.is_ascii_uppercase()))
            }
            _ => SIGNS.iter().find(|s| s.0 == c || s.1 == c).map(|s| Self::character(c, s.2.to_owned(), s.3, s.1 == c)),
        }
    }

    /// The key of this name, in any case: `Enter`, `esc`, `Down`, `F5`, `Numpad3`, `Space`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let wanted = name.to_ascii_lowercase();
        if wanted == "space" || wanted == "spacebar" {
            return Self::of_char(' ');
        }
        if let Some(digit) = wanted.strip_prefix("numpad").and_then(|d| d.parse::<u32>().ok()).filter(|d| *d < 10) {
            return Some(Self {
                keypad: true,
                ..Self::character(char::from_digit(digit, 10)?, format!("Numpad{digit}"), 96 + digit, false)
            });
        }
        let (key, code, number, _) = NAMED.iter().find(|n| n.0.to_ascii_lowercase() == wanted || n.3.contains(&wanted.as_str()))?;
        let text = (*key == "Enter").then(|| "\r".to_owned());
        Some(Self { key: (*key).to_owned(), code: (*code).to_owned(), number: *number, text, shift: false, keypad: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_ascii_character_has_its_key() {
        for c in ' '..='~' {
            let key = Key::of_char(c).unwrap_or_else(|| panic!("{c:?}"));
            assert_eq!(key.text.as_deref(), Some(c.to_string().as_str()));
        }
        assert!(Key::of_char('!').unwrap().shift && Key::of_char('Q').unwrap().shift && !Key::of_char('q').unwrap().shift);
        assert!(Key::of_char('é').is_none() && Key::of_char('中').is_none());
    }

    #[test]
    fn names_are_known_in_any_case_and_by_their_short_forms() {
        for (name, key) in [
            ("enter", "Enter"),
            ("Return", "Enter"),
            ("ESC", "Escape"),
            ("Down", "ArrowDown"),
            ("arrowdown", "ArrowDown"),
            ("f12", "F12"),
            ("Space", " "),
            ("Numpad7", "7"),
        ] {
            assert_eq!(Key::named(name).unwrap().key, key, "{name}");
        }
        assert!(Key::named("Bogus").is_none() && Key::named("").is_none());
        assert_eq!(Key::named("Enter").unwrap().text.as_deref(), Some("\r"));
    }
}
