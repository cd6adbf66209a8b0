//! One-time pairing codes. A code is short enough to be typed, so it must be worthless soon: it lives two minutes,
//! bears five wrong tries, and is used up by the first right one. One at a time; a new one ends the old.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rand::RngExt;
use subtle::ConstantTimeEq;

/// How long a code lives.
const LIFE: Duration = Duration::from_secs(120);
/// Wrong tries after which it is dead.
const TRIES: u8 = 5;
/// Letters and digits that nobody takes for another one.
const ALPHABET: &[u8; 30] = b"ABCDEFGHJKMNPQRSTVWXYZ23456789";

/// A code as the person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingCode {
    /// Such as `K7QM-3XWP`.
    pub code: String,
    /// How long it may be typed from now on.
    pub expires_in: Duration,
}

impl std::fmt::Display for PairingCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.code)
    }
}

#[derive(Debug)]
struct Live {
    code: String,
    until: Instant,
    tries_left: u8,
}

/// The place of the one live code.
#[derive(Debug, Default)]
pub(super) struct Codes {
    live: Mutex<Option<Live>>,
}

impl Codes {
    /// Makes a new code; the one before it is dead.
    pub(super) fn start(&self) -> PairingCode {
        let mut rng = rand::rng();
        let code: String = (0..8).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect();
        let shown = format!("{}-{}", &code[..4], &code[4..]);
        *self.live.lock() = Some(Live { code, until: Instant::now() + LIFE, tries_left: TRIES });
        PairingCode { code: shown, expires_in: LIFE }
    }

    /// Whether this is the live code. A right one is used up, a wrong one costs a try.
    pub(super) fn redeem(&self, typed: &str) -> bool {
        self.redeem_at(typed, Instant::now())
    }

    fn redeem_at(&self, typed: &str, now: Instant) -> bool {
        let mut slot = self.live.lock();
        let Some(live) = slot.as_mut() else { return false };
        if now >= live.until {
            *slot = None;
            return false;
        }
        if bool::from(live.code.as_bytes().ct_eq(typed.as_bytes())) {
            *slot = None;
            return true;
        }
        live.tries_left -= 1;
        if live.tries_left == 0 {
            *slot = None;
        }
        false
    }

    /// Ends the live code, if there is one.
    pub(super) fn stop(&self) {
        *self.live.lock() = None;
    }

    /// Whether a code can be typed now.
    pub(super) fn waiting(&self) -> bool {
        self.live.lock().as_ref().is_some_and(|live| Instant::now() < live.until)
    }
}

/// Whether a text has the form of a code (and not of a token).
pub(super) fn is_code(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(code: &PairingCode) -> String {
        code.code.replace('-', "")
    }

    #[test]
    fn a_code_works_once() {
        let codes = Codes::default();
        let code = plain(&codes.start());
        assert!(is_code(&code));
        assert!(codes.waiting());
        assert!(codes.redeem(&code));
        assert!(!codes.redeem(&code));
        assert!(!codes.waiting());
    }

    #[test]
    fn five_wrong_tries_end_it() {
        let codes = Codes::default();
        let code = plain(&codes.start());
        for _ in 0..4 {
            assert!(!codes.redeem("AAAA0000"));
        }
        assert!(!codes.redeem(""));
        assert!(!codes.redeem(&code), "the sixth try is too late even when it is right");
    }

    #[test]
    fn four_wrong_tries_leave_a_fifth() {
        let codes = Codes::default();
        let code = plain(&codes.start());
        for _ in 0..4 {
            assert!(!codes.redeem("AAAA0000"));
        }
        assert!(codes.redeem(&code));
    }

    #[test]
    fn it_dies_after_two_minutes_and_by_its_successor() {
        let codes = Codes::default();
        let old = plain(&codes.start());
        assert!(!codes.redeem_at(&old, Instant::now() + LIFE));
        let first = plain(&codes.start());
        let second = plain(&codes.start());
        assert!(!codes.redeem(&first));
        assert!(codes.redeem(&second));
    }

    #[test]
    fn nothing_is_redeemed_when_nobody_asked_for_a_code() {
        assert!(!Codes::default().redeem(""));
    }
}
