//! The door of the relay: who may connect. Decided by two headers of the WebSocket upgrade, before a byte is answered:
//! the Origin must be the pinned extension and nothing else, and the second subprotocol must be a live pairing code or
//! the token of a paired browser. No query, no cookie, no field of a frame can replace either.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::codes::{Codes, is_code};
use super::store::{Record, Store};
use super::{EXTENSION_ID, PROTOCOL};

/// Wrong secrets that are answered within [`LIMIT_SPAN`]; further ones hear 429. Right ones are never delayed.
const LIMIT: usize = 20;
const LIMIT_SPAN: Duration = Duration::from_secs(60);

/// Leave to connect; hand it to [`Relay::serve`](super::Relay::serve).
#[derive(Debug)]
pub struct Admission(pub(super) Who);

/// Who stands at the door.
#[derive(Debug)]
pub(super) enum Who {
    /// A browser that typed the code; it gets a record and a token when it says its name.
    New,
    /// A paired one.
    Known(Record),
}

/// Why an upgrade is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No Origin, or not exactly the pinned extension's.
    #[error("only the Deskhand extension may connect here")]
    Origin,
    /// The subprotocols are not `deskhand.v1` and one secret.
    #[error("offer the subprotocols deskhand.v1 and a pairing code or token")]
    Protocol,
    /// The secret is neither the live code nor a paired browser's token.
    #[error("the pairing code or token is not valid; pair this browser again")]
    Secret,
    /// Too many wrong secrets within a minute.
    #[error("too many wrong codes or tokens; wait a minute")]
    TooMany,
}

impl Refusal {
    /// The HTTP status to answer with.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Origin => 403,
            Self::Protocol => 400,
            Self::Secret => 401,
            Self::TooMany => 429,
        }
    }
}

/// Decides, and remembers wrong tries.
#[derive(Debug, Default)]
pub(super) struct Door {
    wrong: Mutex<VecDeque<Instant>>,
}

impl Door {
    pub(super) fn admit(&self, origin: Option<&str>, protocols: Option<&str>, codes: &Codes, store: &Store) -> Result<Admission, Refusal> {
        if origin.and_then(|o| o.strip_prefix("chrome-extension://")) != Some(EXTENSION_ID) {
            return Err(Refusal::Origin);
        }
        let offered: Vec<&str> = protocols.unwrap_or_default().split(',').map(str::trim).collect();
        let [PROTOCOL, secret] = offered[..] else { return Err(Refusal::Protocol) };
        let known = if is_code(secret) { codes.redeem(secret).then_some(Who::New) } else { store.by_token(secret).map(Who::Known) };
        known.map(Admission).ok_or_else(|| self.wrong_try())
    }

    fn wrong_try(&self) -> Refusal {
        let now = Instant::now();
        let mut wrong = self.wrong.lock();
        while wrong.front().is_some_and(|at| now.duration_since(*at) > LIMIT_SPAN) {
            wrong.pop_front();
        }
        if wrong.len() >= LIMIT {
            return Refusal::TooMany;
        }
        wrong.push_back(now);
        Refusal::Secret
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "chrome-extension://gdkdipmegppdlcihkchkdeikhpocmaip";

    struct Place {
        door: Door,
        codes: Codes,
        store: Store,
        token: String,
        _dir: tempfile::TempDir,
    }

    fn place() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("b.json")).unwrap();
        let (_, token) = store.add("a", "").unwrap();
        Place { door: Door::default(), codes: Codes::default(), store, token, _dir: dir }
    }

    impl Place {
        fn admit(&self, origin: Option<&str>, protocols: Option<&str>) -> Result<Admission, Refusal> {
            self.door.admit(origin, protocols, &self.codes, &self.store)
        }
    }

    #[test]
    fn every_origin_but_the_pinned_extension_is_refused_even_with_the_token() {
        let place = place();
        let good = format!("deskhand.v1, {}", place.token);
        let origins = [
            None,
            Some(""),
            Some("null"),
            Some("file://"),
            Some("https://evil.test"),
            Some("http://127.0.0.1:47800"),
            Some("chrome-extension://"),
            Some("chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
            Some("chrome-extension://gdkdipmegppdlcihkchkdeikhpocmaip.evil.test"),
            Some("chrome-extension://gdkdipmegppdlcihkchkdeikhpocmaip/"),
            Some("chrome-extension://GDKDIPMEGPPDLCIHKCHKDEIKHPOCMAIP"),
            Some("moz-extension://gdkdipmegppdlcihkchkdeikhpocmaip"),
            Some(" chrome-extension://gdkdipmegppdlcihkchkdeikhpocmaip"),
        ];
        for origin in origins {
            assert_eq!(place.admit(origin, Some(&good)).unwrap_err(), Refusal::Origin, "{origin:?}");
        }
        assert!(matches!(place.admit(Some(OURS), Some(&good)), Ok(Admission(Who::Known(_)))));
    }

    #[test]
    fn a_wrong_form_of_subprotocols_is_refused_and_costs_no_try() {
        let place = place();
        let token = &place.token;
        for offered in ["", "deskhand.v1", token, &format!("{token}, deskhand.v1"), &format!("deskhand.v1, {token}, x")] {
            assert_eq!(place.admit(Some(OURS), Some(offered)).unwrap_err(), Refusal::Protocol, "{offered}");
        }
        assert_eq!(place.admit(Some(OURS), None).unwrap_err(), Refusal::Protocol);
    }

    #[test]
    fn a_foreign_origin_cannot_use_up_the_code() {
        let place = place();
        let code = place.codes.start().code.replace('-', "");
        for _ in 0..10 {
            assert_eq!(place.admit(Some("https://evil.test"), Some("deskhand.v1, AAAA0000")).unwrap_err(), Refusal::Origin);
        }
        assert!(matches!(place.admit(Some(OURS), Some(&format!("deskhand.v1, {code}"))), Ok(Admission(Who::New))));
        assert_eq!(place.admit(Some(OURS), Some(&format!("deskhand.v1, {code}"))).unwrap_err(), Refusal::Secret);
    }

    #[test]
    fn guessing_is_limited_and_the_right_token_still_enters() {
        let place = place();
        for _ in 0..LIMIT {
            assert_eq!(place.admit(Some(OURS), Some("deskhand.v1, 0123")).unwrap_err(), Refusal::Secret);
        }
        assert_eq!(place.admit(Some(OURS), Some("deskhand.v1, 0123")).unwrap_err(), Refusal::TooMany);
        assert!(place.admit(Some(OURS), Some(&format!("deskhand.v1, {}", place.token))).is_ok());
    }
}
