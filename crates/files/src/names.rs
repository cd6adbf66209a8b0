//! File names as text: a form for names that are not Unicode, and what counts as the same name.
//!
//! A name that is not valid UTF-8 is shown with its bad bytes as `\xHH` (and its backslashes as `\x5c`, so that the
//! form can be turned back). A path given to this crate is first taken literally; only when that name does not exist
//! is `\xHH` decoded, so a file whose real name contains `\x41` stays reachable.

use std::ffi::{OsStr, OsString};
use unicode_normalization::UnicodeNormalization as _;

/// The text form of a name and whether bytes had to be escaped for it.
pub(crate) fn shown(name: &OsStr) -> (String, bool) {
    match name.to_str() {
        Some(text) => (text.to_owned(), false),
        None => (escape(name), true),
    }
}

/// The text form of a path.
pub(crate) fn shown_path(path: &std::path::Path) -> String {
    shown(path.as_os_str()).0
}

#[cfg(unix)]
fn escape(name: &OsStr) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    let mut out = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        out.push_str(&chunk.valid().replace('\\', "\\x5c"));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

#[cfg(not(unix))]
fn escape(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

/// Turns `\xHH` back into bytes. `None` when there is nothing to turn back.
#[cfg(unix)]
pub(crate) fn unescape(text: &OsStr) -> Option<OsString> {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let (mut at, mut found) = (0, false);
    while at < bytes.len() {
        let code = bytes[at..]
            .strip_prefix(b"\\x")
            .and_then(|rest| rest.get(..2))
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
            // A separator or NUL could not have been part of one name.
            .filter(|code| *code != 0 && *code != b'/');
        if let Some(code) = code {
            out.push(code);
            at += 4;
            found = true;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    found.then(|| OsString::from_vec(out))
}

/// Turns `\xHH` back into bytes. `None` when there is nothing to turn back.
#[cfg(not(unix))]
pub(crate) fn unescape(_text: &OsStr) -> Option<OsString> {
    None
}

/// The composed form: two names that differ only in composition are twins.
pub(crate) fn composed(name: &str) -> String {
    name.nfc().collect()
}

/// Like [`composed`], and every kind of no-break space is a space. macOS puts U+202F into the names of its screenshots;
/// models write a plain space.
pub(crate) fn loose(name: &str) -> String {
    name.nfc().map(|c| if matches!(c, '\u{a0}' | '\u{202f}' | '\u{2007}') { ' ' } else { c }).collect()
}

/// The form in which a search compares: composed, lower case, spaces alike.
pub(crate) fn search_form(name: &str) -> String {
    loose(&name.to_lowercase())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt as _;

    #[test]
    fn a_name_that_is_not_utf8_is_shown_in_a_form_that_turns_back() {
        for bytes in [&b"bad\xffname.txt"[..], b"a\\b\xfe", b"\xe4\xb8", b"\\x41\xff"] {
            let name = OsString::from_vec(bytes.to_vec());
            let (text, escaped) = shown(&name);
            assert!(escaped);
            assert_eq!(unescape(OsStr::new(&text)).unwrap(), name, "{text}");
        }
        assert_eq!(shown(OsStr::new("a\\x41")), ("a\\x41".into(), false));
        assert_eq!(unescape(OsStr::new("plain")), None);
        assert_eq!(unescape(OsStr::new("..\\x2f..")), None);
    }

    #[test]
    fn twins_and_spaces_compare_alike() {
        assert_eq!(composed("cafe\u{301}"), "café");
        assert_eq!(loose("4:05\u{202f}PM"), "4:05 PM");
        assert_eq!(search_form("CAFE\u{301}"), search_form("café"));
    }
}
