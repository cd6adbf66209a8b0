//! Who a request is from: tokens for executors and agents, a session cookie for people.
//!
//! Users are looked at in the database at most once a second each, so that a reset by `deskhand gateway token reset`
//! (another process) holds within a second and a call costs no query.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, StatusCode, Uri, header};
use parking_lot::Mutex;

use crate::error::Result;
use crate::keys::{ServerKey, claimed_user};
use crate::store::{Store, User};

/// How old knowledge of a user may be.
const FRESH: Duration = Duration::from_secs(1);
/// Users remembered at most.
const MOST: usize = 50_000;
/// Name of the session cookie.
pub(crate) const COOKIE: &str = "deskhand_session";

/// A user who showed a valid token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenUser {
    /// Who.
    pub name: String,
    /// Of which generation the token was.
    pub generation: i64,
}

/// Why a token request is turned away: 401 without a token, 403 with a wrong one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// No token came with it.
    Missing,
    /// It is nobody's, or was reset, or a superadmin's.
    Wrong,
    /// The database did not answer.
    Unavailable,
}

impl Denied {
    /// The HTTP status.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Missing => StatusCode::UNAUTHORIZED,
            Self::Wrong => StatusCode::FORBIDDEN,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// In words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Missing => "a token is needed: send `Authorization: Bearer USER:HEX`",
            Self::Wrong => "the token is not valid (any more): sign in again or ask the administrator",
            Self::Unavailable => "the gateway cannot check tokens at the moment; try again",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Known {
    superadmin: bool,
    generation: i64,
    at: Instant,
}

/// Checks tokens and sessions.
#[derive(Debug)]
pub struct Access {
    store: Store,
    key: ServerKey,
    known: Mutex<HashMap<String, Known>>,
}

impl Access {
    /// Over that database and key.
    #[must_use]
    pub fn new(store: Store, key: ServerKey) -> Self {
        Self { store, key, known: Mutex::new(HashMap::new()) }
    }

    /// Whose token this is.
    ///
    /// # Errors
    /// See [`Denied`].
    pub async fn check(&self, token: Option<&str>) -> std::result::Result<TokenUser, Denied> {
        let token = token.filter(|token| !token.is_empty()).ok_or(Denied::Missing)?;
        let name = claimed_user(token).ok_or(Denied::Wrong)?;
        let known = self.known(name).await.map_err(|error| {
            tracing::error!(%error, "cannot check a token");
            Denied::Unavailable
        })?;
        // The same work for a name that nobody has, so that the time tells nothing about which names exist.
        let right = self.key.accepts(token, name, known.map_or(0, |known| known.generation));
        match known {
            Some(known) if right && !known.superadmin => Ok(TokenUser { name: name.to_owned(), generation: known.generation }),
            _ => Err(Denied::Wrong),
        }
    }

    /// Whether a token of `generation` is still good.
    ///
    /// # Errors
    /// `Database`.
    pub async fn is_current(&self, name: &str, generation: i64) -> Result<bool> {
        Ok(self.known(name).await?.is_some_and(|known| !known.superadmin && known.generation == generation))
    }

    async fn known(&self, name: &str) -> Result<Option<Known>> {
        if let Some(known) = self.known.lock().get(name).filter(|known| known.at.elapsed() < FRESH) {
            return Ok(Some(*known));
        }
        let Some(user) = self.store.user(name).await? else {
            self.known.lock().remove(name);
            return Ok(None);
        };
        let fresh = Known { superadmin: user.is_superadmin(), generation: user.generation, at: Instant::now() };
        let mut known = self.known.lock();
        if known.len() >= MOST {
            known.retain(|_, entry| entry.at.elapsed() < FRESH);
        }
        known.insert(user.name, fresh);
        Ok(Some(fresh))
    }

    /// Forgets what is remembered of a user, after a change by this process.
    pub fn forget(&self, name: &str) {
        self.known.lock().remove(name);
    }

    /// The token of `user`.
    #[must_use]
    pub fn token_of(&self, user: &User) -> String {
        self.key.token(&user.name, user.generation)
    }

    /// The user of the request's session cookie.
    ///
    /// # Errors
    /// `Database`.
    pub async fn session(&self, headers: &HeaderMap) -> Result<Option<User>> {
        let Some(cookie) = session_cookie(headers) else { return Ok(None) };
        match self.store.session_user(cookie).await? {
            Some(name) => self.store.user(&name).await,
            None => Ok(None),
        }
    }
}

/// The session cookie's value.
pub(crate) fn session_cookie(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// The token a request carries and whether it came in the URL: the bearer if there is one, else `?token=`. Two
/// Authorization headers are none.
pub(crate) fn token_of(headers: &HeaderMap, uri: &Uri) -> Option<(String, bool)> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => {
            // Names of users may be of any script; the header's text is UTF-8 then.
            let text = std::str::from_utf8(value.as_bytes()).ok()?;
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| (token.trim().to_owned(), false))
        }
        (Some(_), Some(_)) => None,
        (None, _) => url::form_urlencoded::parse(uri.query()?.as_bytes())
            .find(|(name, _)| name == "token")
            .map(|(_, token)| (token.into_owned(), true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::fresh;

    #[tokio::test]
    async fn a_reset_token_is_wrong_and_a_superadmin_has_none() {
        let (store, dir) = fresh().await;
        let key = ServerKey::load(&dir.path().join("key")).unwrap();
        store.add_user("ana", "h", false).await.unwrap();
        store.add_user("root", "h", true).await.unwrap();
        let access = Access::new(store.clone(), key);
        let token = |name: &str| {
            let (store, access, name) = (store.clone(), &access, name.to_owned());
            async move { access.token_of(&store.user(&name).await.unwrap().unwrap()) }
        };
        let first = token("ana").await;
        assert_eq!(access.check(Some(&first)).await.unwrap().name, "ana");
        store.raise_generation("ana").await.unwrap();
        access.forget("ana");
        assert_eq!(access.check(Some(&first)).await, Err(Denied::Wrong));
        assert!(access.check(Some(&token("ana").await)).await.is_ok());
        assert_eq!(access.check(Some(&token("root").await)).await, Err(Denied::Wrong));
        assert_eq!(access.check(None).await, Err(Denied::Missing));
        assert_eq!(access.check(Some("")).await, Err(Denied::Missing));
        for wrong in ["x", "ana:", "ana:00", ":", "nobody:00"] {
            assert_eq!(access.check(Some(wrong)).await, Err(Denied::Wrong), "{wrong}");
        }
    }

    #[test]
    fn tokens_and_cookies_are_found() {
        let mut headers = HeaderMap::new();
        let uri: Uri = "/x?a=b&token=ana%3Aff".parse().unwrap();
        assert_eq!(token_of(&headers, &uri), Some(("ana:ff".into(), true)));
        headers.insert(header::AUTHORIZATION, "bearer ana:00".parse().unwrap());
        assert_eq!(token_of(&headers, &uri), Some(("ana:00".into(), false)));
        headers.append(header::AUTHORIZATION, "Bearer other:00".parse().unwrap());
        assert_eq!(token_of(&headers, &uri), None, "two are none");
        headers.insert(header::AUTHORIZATION, header::HeaderValue::from_bytes("Bearer 李雷:00".as_bytes()).unwrap());
        assert_eq!(token_of(&headers, &uri), Some(("李雷:00".into(), false)));
        headers.insert(header::COOKIE, "a=b; deskhand_session=cafe".parse().unwrap());
        assert_eq!(session_cookie(&headers), Some("cafe"));
    }
}
