//! Signing in, tokens, and what an agent needs to configure itself.

use axum::Extension;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{PeerAddress, Shared, Web, error_response, failure, success};
use crate::access::{COOKIE, session_cookie};
use crate::password;
use crate::store::{User, check_name};

/// A session lasts this long, in milliseconds.
const SESSION_MS: i64 = 12 * 3_600_000;
/// Sessions of one user at once.
const SESSIONS: i64 = 10;

/// What a sign-in sends.
#[derive(Deserialize)]
pub(super) struct Credentials {
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
}

type Sent = Result<Form<Credentials>, FormRejection>;

/// `POST /api/login`: for executors and extensions; superadmins are turned away.
pub(super) async fn login(
    State(web): Shared,
    Extension(PeerAddress(peer)): Extension<PeerAddress>,
    headers: HeaderMap,
    sent: Sent,
) -> Response {
    sign_in(&web, peer, &headers, sent, false).await
}

/// `POST /api/session`: for the status page; anybody with a password.
pub(super) async fn session(
    State(web): Shared,
    Extension(PeerAddress(peer)): Extension<PeerAddress>,
    headers: HeaderMap,
    sent: Sent,
) -> Response {
    sign_in(&web, peer, &headers, sent, true).await
}

async fn sign_in(web: &Web, peer: std::net::SocketAddr, headers: &HeaderMap, sent: Sent, page: bool) -> Response {
    let Ok(Form(Credentials { username, password })) = sent else {
        return failure(StatusCode::BAD_REQUEST, "send the form fields username and password");
    };
    if username.is_empty() || password.is_empty() {
        return failure(StatusCode::BAD_REQUEST, "user name and password must not be empty");
    }
    let from = network_of(web.client_address(peer, headers));
    if let Err(wait) = web.by_address.begin(&from) {
        return too_many(wait);
    }
    // What cannot be a name is nobody's: it is not kept, however long it is.
    let name = check_name("user", &username).is_ok().then(|| username.clone());
    if let Some(name) = &name
        && let Err(wait) = web.by_name.begin(name)
    {
        web.by_address.give_back(&from);
        return too_many(wait);
    }
    match check(web, &username, password).await {
        Err(error) => {
            web.by_address.give_back(&from);
            name.iter().for_each(|name| web.by_name.give_back(name));
            error_response(&error)
        }
        Ok(Checked { user, right: false }) => {
            web.gateway.metrics.refused_logins.fetch_add(1, Ordering::Relaxed);
            // A name that nobody has may be a password, typed into the wrong field.
            let user = user.map_or_else(|| "nobody".to_owned(), |user| user.name);
            tracing::warn!(user, peer = %from, "sign-in refused");
            failure(StatusCode::UNAUTHORIZED, "wrong user name or password")
        }
        Ok(Checked { user: Some(user), right: true }) => {
            web.by_address.give_back(&from);
            web.by_name.succeed(&user.name);
            if user.is_superadmin() && !page {
                web.gateway.metrics.refused_logins.fetch_add(1, Ordering::Relaxed);
                return failure(StatusCode::FORBIDDEN, "a superadmin cannot sign in as a worker; use an ordinary user");
            }
            begin(web, &user).await
        }
        Ok(Checked { user: None, right: true }) => failure(StatusCode::UNAUTHORIZED, "wrong user name or password"),
    }
}

fn too_many(wait: Duration) -> Response {
    let seconds = wait.as_secs() + 1;
    let mut response = failure(StatusCode::TOO_MANY_REQUESTS, format!("too many wrong passwords; try again in {seconds} s"));
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Whom tries count for: one machine commonly has a whole /64 of IPv6.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) >> 64 << 64).into()),
        v4 => v4,
    }
}

struct Checked {
    user: Option<User>,
    right: bool,
}

async fn check(web: &Web, name: &str, password: String) -> crate::Result<Checked> {
    let user = web.gateway.store.user(name).await?;
    let right = password::verify(password, user.as_ref().map(|user| user.password_hash.clone())).await?;
    Ok(Checked { user, right })
}

async fn begin(web: &Web, user: &User) -> Response {
    let cookie = match web.gateway.store.start_session(&user.name, SESSION_MS, SESSIONS).await {
        Ok(cookie) => cookie,
        Err(error) => return error_response(&error),
    };
    web.gateway.metrics.logins.fetch_add(1, Ordering::Relaxed);
    tracing::info!(user = user.name, "signed in");
    let mut response = success(json!({"username": user.name}));
    set_cookie(web, &mut response, &cookie, SESSION_MS / 1000);
    response
}

fn set_cookie(web: &Web, response: &mut Response, value: &str, seconds: i64) {
    let secure = if web.is_secure() { "; Secure" } else { "" };
    let text = format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    if let Ok(mut value) = HeaderValue::try_from(text) {
        value.set_sensitive(true);
        response.headers_mut().append(header::SET_COOKIE, value);
    }
}

/// `DELETE /api/session`.
pub(super) async fn sign_out(State(web): Shared, headers: HeaderMap) -> Response {
    if let Some(cookie) = session_cookie(&headers)
        && let Err(error) = web.gateway.store.end_session(cookie).await
    {
        return error_response(&error);
    }
    let mut response = success(json!({}));
    set_cookie(&web, &mut response, "", 0);
    response
}

impl Web {
    /// The signed-in user, or the answer that turns the request away.
    pub(super) async fn signed_in(&self, headers: &HeaderMap) -> Result<User, Response> {
        match self.gateway.access.session(headers).await {
            Ok(Some(user)) => Ok(user),
            Ok(None) => Err(failure(StatusCode::UNAUTHORIZED, "not signed in, or the session is over; sign in first")),
            Err(error) => Err(error_response(&error)),
        }
    }
}

/// `GET /api/mcp/token`.
pub(super) async fn token(State(web): Shared, headers: HeaderMap) -> Response {
    let user = match web.signed_in(&headers).await {
        Ok(user) => user,
        Err(response) => return response,
    };
    if user.is_superadmin() {
        return failure(StatusCode::FORBIDDEN, "a superadmin has no token; use an ordinary user");
    }
    success(json!({"token": web.gateway.access.token_of(&user)}))
}

/// `DELETE /api/mcp/token`: the signed-in user's own token is reset; the answer has the new one.
pub(super) async fn reset_token(State(web): Shared, headers: HeaderMap) -> Response {
    let user = match web.signed_in(&headers).await {
        Ok(user) => user,
        Err(response) => return response,
    };
    if user.is_superadmin() {
        return failure(StatusCode::FORBIDDEN, "a superadmin has no token; use an ordinary user");
    }
    if let Err(error) = web.gateway.reset_token(&user.name).await {
        return error_response(&error);
    }
    tracing::info!(user = user.name, "token reset by the user");
    match web.gateway.store.user(&user.name).await {
        Ok(Some(user)) => success(json!({"token": web.gateway.access.token_of(&user)})),
        Ok(None) => failure(StatusCode::NOT_FOUND, "this user was removed"),
        Err(error) => error_response(&error),
    }
}

/// `GET /api/picoagent/me`: what an agent needs to configure itself.
pub(super) async fn me(State(web): Shared, headers: HeaderMap, uri: Uri) -> Response {
    let (user, token, _) = match web.token_user(&headers, &uri).await {
        Ok(found) => found,
        Err(response) => return response,
    };
    let base = web.base_url(&headers);
    let at = |service: &str| format!("{base}/api/mcp/sse/{service}");
    success(json!({
        "username": user.name,
        "mcp": {"browser": at("browser"), "computer": at("computer"), "agent": at("agent")},
        "token": token,
    }))
}
