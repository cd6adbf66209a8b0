//! Whose token it is, and how often one may guess.
//!
//! Any page or program on the machine can reach loopback, so a token is wanted there too, compared in constant time. Wrong
//! ones are counted and soon answered with 429; the right one is never counted and never waits, so nobody who guesses
//! can lock the owner out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::service::Principal;

/// Wrong tokens in a row before 429.
const BURST: f64 = 10.0;
/// Wrong tokens forgiven each second.
const FORGIVEN: f64 = 0.5;
/// Addresses remembered; beyond it, unknown ones are treated as having no guesses left.
const ADDRESSES: usize = 1024;

/// Knows which tokens there are.
pub trait Authenticator: Send + Sync + 'static {
    /// Whose token this is; `None` refuses. Must take the same time for every wrong token.
    fn principal(&self, token: &str) -> Option<Principal>;
}

/// A fixed set of tokens. An empty token matches nothing, so a set-but-empty one refuses everybody.
pub struct Tokens(Vec<(Principal, [u8; 32])>);

impl Tokens {
    /// One principal per name and token.
    pub fn new<'a>(tokens: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let known = tokens.into_iter().filter(|(_, token)| !token.is_empty());
        Self(known.map(|(name, token)| (Principal::new(name, token), digest(token))).collect())
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Equality in constant time, whatever the lengths: the digests are compared.
pub fn same_token(one: &str, other: &str) -> bool {
    digest(one).ct_eq(&digest(other)).into()
}

impl Authenticator for Tokens {
    fn principal(&self, token: &str) -> Option<Principal> {
        let given = digest(token);
        let mut found = None;
        for (principal, known) in &self.0 {
            if bool::from(known.ct_eq(&given)) {
                found = Some(principal.clone());
            }
        }
        found
    }
}

/// What the Authorization headers came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Let in.
    Known(Principal),
    /// No bearer token there: 401.
    Missing,
    /// A wrong one: 401.
    Wrong,
    /// Too many wrong ones: 429.
    TooMany,
    /// Two Authorization headers: 400.
    Twice,
}

/// The authenticator and its count of wrong tokens.
pub(crate) struct Gatekeeper {
    authenticator: Arc<dyn Authenticator>,
    guesses: Mutex<HashMap<IpAddr, (f64, Instant)>>,
}

impl Gatekeeper {
    pub(crate) fn new(authenticator: Arc<dyn Authenticator>) -> Self {
        Self { authenticator, guesses: Mutex::default() }
    }

    /// Judges the Authorization headers of a request from `peer`.
    pub(crate) fn judge(&self, headers: &HeaderMap, peer: IpAddr) -> Verdict {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let Some(header) = given.next() else { return Verdict::Missing };
        if given.next().is_some() {
            return Verdict::Twice;
        }
        let Some(token) = bearer(header) else { return Verdict::Missing };
        match self.authenticator.principal(token) {
            Some(principal) => Verdict::Known(principal),
            None if self.guess(peer) => Verdict::Wrong,
            None => Verdict::TooMany,
        }
    }

    /// Counts a wrong token; false when there were too many.
    fn guess(&self, peer: IpAddr) -> bool {
        let mut guesses = self.guesses.lock();
        let now = Instant::now();
        if guesses.len() >= ADDRESSES && !guesses.contains_key(&peer) {
            guesses.retain(|_, (left, since)| left.mul_add(1.0, since.elapsed().as_secs_f64() * FORGIVEN) < BURST);
            if guesses.len() >= ADDRESSES {
                return false;
            }
        }
        let (left, since) = guesses.entry(peer).or_insert((BURST, now));
        *left = (*left + since.elapsed().as_secs_f64() * FORGIVEN).min(BURST);
        *since = now;
        if *left < 1.0 {
            return false;
        }
        *left -= 1.0;
        true
    }
}

fn bearer(header: &HeaderValue) -> Option<&str> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_the_right_token_comes_in() {
        let keeper = Gatekeeper::new(Arc::new(Tokens::new([("main", "secret"), ("client:x", "other"), ("empty", "")])));
        let known = |token: &str| Verdict::Known(keeper.authenticator.principal(token).unwrap());
        assert_eq!(keeper.judge(&headers(&["Bearer secret"]), HERE), known("secret"));
        assert_eq!(keeper.judge(&headers(&["bearer  other "]), HERE), known("other"));
        for value in ["Bearer ", "Bearer", "Basic secret", "secret", "Token secret", ""] {
            assert_eq!(keeper.judge(&headers(&[value]), HERE), Verdict::Missing, "{value}");
        }
        assert_eq!(keeper.judge(&headers(&["Bearer secre"]), HERE), Verdict::Wrong);
        assert_eq!(keeper.judge(&headers(&["Bearer secret", "Bearer secret"]), HERE), Verdict::Twice);
        assert_eq!(keeper.judge(&HeaderMap::new(), HERE), Verdict::Missing);
    }

    #[test]
    fn guessing_is_limited_and_the_owner_never_waits() {
        let keeper = Gatekeeper::new(Arc::new(Tokens::new([("main", "secret")])));
        let wrong = (0..200).filter(|n| keeper.judge(&headers(&[&format!("Bearer {n}")]), HERE) == Verdict::Wrong).count();
        assert!((10..15).contains(&wrong), "{wrong}");
        assert!(matches!(keeper.judge(&headers(&["Bearer secret"]), HERE), Verdict::Known(_)));
    }
}
