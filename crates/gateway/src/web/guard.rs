//! What every request passes first: whom it is addressed to, whose page sent it, and how long its body may take.
//!
//! Browsers send requests for any page. A page of another site must get nothing done here, neither with a person's cookie
//! nor, by giving its own name our address (DNS rebinding), as if it were ours.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use super::{Shared, Web, failure};

/// A request's body must be complete within this: a peer that trickles holds its connection no longer.
const BODY_WITHIN: Duration = Duration::from_secs(30);
/// Where a browser extension may sign in and ask; its page is no web site's.
const FOR_EXTENSIONS: [&str; 4] = ["/api/login", "/api/mcp/", "/api/picoagent/", "/api/status"];
/// Where executors connect.
const SOCKETS: [&str; 2] = ["/api/computer/ws", "/api/browser/ws"];
const EXTENSIONS: [&str; 3] = ["chrome-extension://", "moz-extension://", "safari-web-extension://"];

/// Counts requests, turns away what is not for us, and sets the headers every answer has.
pub(super) async fn guard(State(web): Shared, request: Request, next: Next) -> Response {
    web.gateway.metrics.requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let refused = web.misaddressed(&request).or_else(|| web.foreign(&request));
    let mut response = match refused {
        Some(refused) => refused,
        None => next.run(request.map(bounded)).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// The same body, which fails when it is not complete in time.
fn bounded(body: Body) -> Body {
    if http_body_is_empty(&body) {
        return body;
    }
    let until = Instant::now() + BODY_WITHIN;
    let chunks = stream::unfold(Some(body.into_data_stream()), move |chunks| async move {
        let mut chunks = chunks?;
        match timeout_at(until, chunks.next()).await {
            Ok(chunk) => Some((chunk?.map_err(std::io::Error::other), Some(chunks))),
            Err(_) => Some((Err(std::io::ErrorKind::TimedOut.into()), None)),
        }
    });
    Body::from_stream(chunks)
}

fn http_body_is_empty(body: &Body) -> bool {
    hyper::body::Body::is_end_stream(body)
}

impl Web {
    /// Refuses a request without one Host, and on a loopback address without a public one any name but this machine's:
    /// only a page that gave its own name our address would send another.
    fn misaddressed(&self, request: &Request) -> Option<Response> {
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().unwrap_or_default(),
            (None, _) if request.version() == Version::HTTP_10 => return None,
            (None, _) => return Some(failure(StatusCode::BAD_REQUEST, "the Host header is missing")),
            (Some(_), Some(_)) => return Some(failure(StatusCode::BAD_REQUEST, "two Host headers")),
        };
        if !is_host(host) {
            return Some(failure(StatusCode::BAD_REQUEST, "the Host header is not well formed"));
        }
        let known = !self.loopback_only || names_this_machine(host);
        (!known).then(|| {
            failure(StatusCode::FORBIDDEN, "this Host is not served here; its address has to be given to the gateway with --public-url")
        })
    }

    /// Refuses what another site's page sends. Executors' sockets are told apart by their token alone: programs send
    /// whatever Origin their library makes up.
    fn foreign(&self, request: &Request) -> Option<Response> {
        let path = request.uri().path();
        if SOCKETS.contains(&path) {
            return None;
        }
        let mut origins = request.headers().get_all(header::ORIGIN).iter();
        let origin = match (origins.next(), origins.next()) {
            (None, _) => return None,
            (Some(origin), None) => origin.to_str().unwrap_or_default(),
            (Some(_), Some(_)) => "",
        };
        let extension =
            EXTENSIONS.iter().any(|scheme| origin.starts_with(scheme)) && FOR_EXTENSIONS.iter().any(|open| path.starts_with(open));
        let own = || url::Url::parse(&self.base_url(request.headers())).is_ok_and(|url| url.origin().ascii_serialization() == origin);
        (!extension && !own()).then(|| failure(StatusCode::FORBIDDEN, "this request came from another site's page"))
    }

    /// Whose tries to sign in count: the peer, or whom the proxy in front names, when there is one by setting.
    pub(super) fn client_address(&self, peer: SocketAddr, headers: &HeaderMap) -> IpAddr {
        let forwarded = headers.get_all("x-forwarded-for").iter().next_back().filter(|_| self.behind_proxy);
        let last = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
        last.unwrap_or(peer.ip())
    }
}

/// Whether it can be a host with or without a port: it is repeated in addresses that clients are told.
fn is_host(host: &str) -> bool {
    !host.is_empty() && host.len() <= 300 && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]%".contains(&byte))
}

/// A literal address, or a name that never leaves this machine.
fn names_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    };
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    literal.parse::<IpAddr>().is_ok() || name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_told_from_names_that_point_at_it() {
        for own in ["localhost", "LOCALHOST:47900", "a.localhost:1", "127.0.0.1:47900", "[::1]:47900", "[::1]", "192.168.1.5"] {
            assert!(names_this_machine(own) && is_host(own), "{own}");
        }
        for other in ["evil.example", "evil.example:47900", "localhost.evil.example", "127.0.0.1.evil.example:80"] {
            assert!(!names_this_machine(other), "{other}");
        }
        for none in ["", "a b", "a\"b", "a/b", "user@host"] {
            assert!(!is_host(none), "{none:?}");
        }
    }
}
