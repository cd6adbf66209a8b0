//! What stands in front of every route: is this request meant for us, and sent by someone who may.
//!
//! A browser can be made to send requests to loopback by any page (DNS rebinding, `no-cors` posts, WebSockets), and rmcp
//! looks only at its own route and not at everything. So Host and Origin are compared here as whole strings with a short
//! list, on all routes, before anything is read.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use parking_lot::RwLock;

use crate::answer;
use crate::auth::{Gatekeeper, Verdict};
use crate::body::closing;
use crate::error::McpError;
use crate::service::Principal;

/// The answer to a request that goes no further.
pub(crate) type Refusal = Box<Response<Body>>;

/// Origins of other web pages that the person has allowed, exact and changeable while serving.
#[derive(Debug, Default)]
pub struct OriginList(RwLock<Vec<String>>);

impl OriginList {
    /// Replaces the list.
    ///
    /// # Errors
    /// When an entry is not `scheme://host[:port]`, or is a wildcard or `null`.
    pub fn set(&self, origins: Vec<String>) -> Result<(), McpError> {
        if let Some(bad) = origins.iter().find(|origin| !is_origin(origin)) {
            return Err(McpError::Config(format!("{bad:?} is not an origin; write scheme://host or scheme://host:port")));
        }
        *self.0.write() = origins;
        Ok(())
    }

    fn has(&self, origin: &str) -> bool {
        self.0.read().iter().any(|allowed| allowed == origin)
    }
}

fn is_origin(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte);
    !scheme.is_empty()
        && scheme.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        && !rest.is_empty()
        && rest.bytes().all(plain)
}

/// The names this listener answers to, and the pages that may talk to it.
pub(crate) struct Guard {
    hosts: Vec<String>,
    own_origins: Vec<String>,
    allowed: Arc<OriginList>,
    keeper: Gatekeeper,
}

impl Guard {
    pub(crate) fn new(address: SocketAddr, more_hosts: &[String], allowed: Arc<OriginList>, keeper: Gatekeeper) -> Self {
        let port = address.port();
        let mut hosts: Vec<String> = ["127.0.0.1", "localhost", "[::1]"].iter().map(|name| format!("{name}:{port}")).collect();
        if !address.ip().is_loopback() && !address.ip().is_unspecified() {
            hosts.push(address.to_string());
        }
        hosts.extend_from_slice(more_hosts);
        let own_origins = hosts.iter().map(|host| format!("http://{host}")).collect();
        Self { hosts, own_origins, allowed, keeper }
    }

    /// Is the request addressed to us, in the plain form, once?
    pub(crate) fn address<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        if request.uri().authority().is_some() || request.uri().scheme().is_some() {
            return Err(refuse(StatusCode::BAD_REQUEST, "The request target must be a path"));
        }
        let mut hosts = request.headers().get_all(HOST).iter();
        match (hosts.next(), hosts.next()) {
            (Some(host), None) if self.hosts.iter().any(|known| known.as_bytes() == host.as_bytes()) => Ok(()),
            (Some(_), None) => Err(refuse(StatusCode::FORBIDDEN, "This Host is not served here")),
            (None, _) => Err(refuse(StatusCode::BAD_REQUEST, "The Host header is missing")),
            (_, Some(_)) => Err(refuse(StatusCode::BAD_REQUEST, "Two Host headers")),
        }
    }

    /// Does it come from no page at all, from our own, or from one on the list? `listed` replaces the lists for a route
    /// that is meant for one origin only, and then an Origin is demanded.
    pub(crate) fn origin(&self, headers: &HeaderMap, listed: Option<&[String]>) -> Result<(), Refusal> {
        let mut origins = headers.get_all(ORIGIN).iter();
        let origin = match (origins.next(), origins.next()) {
            (None, _) if listed.is_some() => return Err(refuse(StatusCode::FORBIDDEN, "This route needs its own Origin")),
            (None, _) => return self.no_page(headers),
            (Some(origin), None) => origin.to_str().unwrap_or_default(),
            (Some(_), Some(_)) => return Err(refuse(StatusCode::FORBIDDEN, "Two Origin headers")),
        };
        let known = match listed {
            Some(listed) => listed.iter().any(|allowed| allowed == origin),
            None => self.own_origins.iter().any(|own| own == origin) || self.allowed.has(origin),
        };
        if known { Ok(()) } else { Err(refuse(StatusCode::FORBIDDEN, "This Origin is not allowed; see --allow-origin")) }
    }

    /// A browser leaves Origin out of some requests (images, forms by GET) but says where they come from.
    fn no_page(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let site = headers.get_all("sec-fetch-site").iter();
        if site.into_iter().all(|value| matches!(value.as_bytes(), b"same-origin" | b"none")) {
            return Ok(());
        }
        Err(refuse(StatusCode::FORBIDDEN, "Requests from other sites are not answered"))
    }

    /// Whose token came with it?
    pub(crate) fn token(&self, headers: &HeaderMap, peer: SocketAddr) -> Result<Principal, Refusal> {
        let text = match self.keeper.judge(headers, peer.ip()) {
            Verdict::Known(principal) => return Ok(principal),
            Verdict::Twice => return Err(refuse(StatusCode::BAD_REQUEST, "Two Authorization headers")),
            Verdict::TooMany => {
                let text = "Too many wrong tokens; the right one is still accepted at once";
                return Err(Box::new(closing(answer::busy(StatusCode::TOO_MANY_REQUESTS, text, 2))));
            }
            Verdict::Missing => "A token is needed: send Authorization: Bearer TOKEN, or run `deskhand mcp install` to set the client up",
            Verdict::Wrong => "This token is wrong or was replaced: run `deskhand mcp install` again for this client",
        };
        let mut response = refuse(StatusCode::UNAUTHORIZED, text);
        response.headers_mut().insert(http::header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        Err(response)
    }
}

/// Refusals close the connection: what follows on it belongs to a request nobody reads.
fn refuse(status: StatusCode, text: &str) -> Refusal {
    Box::new(closing(answer::refuse(status, text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Tokens;

    fn guard() -> Guard {
        let keeper = Gatekeeper::new(Arc::new(Tokens::new([("main", "secret")])));
        let allowed = Arc::new(OriginList::default());
        allowed.set(vec!["https://app.example".into()]).unwrap();
        Guard::new("127.0.0.1:47800".parse().unwrap(), &[], allowed, keeper)
    }

    fn status(result: Result<(), Refusal>) -> u16 {
        result.map_or_else(|response| response.status().as_u16(), |()| 200)
    }

    #[test]
    fn host_is_compared_as_a_whole() {
        let host = |values: &[&str]| {
            let mut request = Request::new(());
            *request.uri_mut() = "/mcp".parse().unwrap();
            for value in values {
                request.headers_mut().append(HOST, value.parse().unwrap());
            }
            status(guard().address(&request))
        };
        for good in ["127.0.0.1:47800", "localhost:47800", "[::1]:47800"] {
            assert_eq!(host(&[good]), 200, "{good}");
        }
        for bad in [
            "evil.com",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost:47801",
            "LOCALHOST:47800",
            "localhost.:47800",
            "127.1:47800",
            "0.0.0.0:47800",
            "127.0.0.1.nip.io:47800",
            "evil@127.0.0.1:47800",
            "127.0.0.1:47800.evil.com",
            "127.0.0.1:47800 ",
            "::1:47800",
            "2130706433:47800",
        ] {
            assert_eq!(host(&[bad]), 403, "{bad}");
        }
        assert_eq!(host(&[]), 400);
        assert_eq!(host(&["127.0.0.1:47800", "127.0.0.1:47800"]), 400);
        let absolute = Request::builder().uri("http://127.0.0.1:47800/mcp").header(HOST, "127.0.0.1:47800").body(()).unwrap();
        assert_eq!(status(guard().address(&absolute)), 400);
    }

    #[test]
    fn origin_is_absent_ours_or_listed() {
        let origin = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            status(guard().origin(&headers, None))
        };
        assert_eq!(origin(&[]), 200);
        for good in ["http://127.0.0.1:47800", "http://localhost:47800", "https://app.example"] {
            assert_eq!(origin(&[("origin", good)]), 200, "{good}");
        }
        for bad in [
            "null",
            "file://",
            "http://127.0.0.1",
            "http://127.0.0.1:47801",
            "http://127.0.0.1.evil.com",
            "http://localhost:47800.evil.com",
            "https://127.0.0.1:47800",
            "http://user@127.0.0.1:47800",
            "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
            "https://sub.app.example",
            "https://app.example:8443",
            "HTTP://127.0.0.1:47800",
            "",
        ] {
            assert_eq!(origin(&[("origin", bad)]), 403, "{bad}");
        }
        assert_eq!(origin(&[("origin", "http://127.0.0.1:47800"), ("origin", "http://127.0.0.1:47800")]), 403);
        assert_eq!(origin(&[("sec-fetch-site", "cross-site")]), 403);
        assert_eq!(origin(&[("sec-fetch-site", "same-site")]), 403);
        assert_eq!(origin(&[("sec-fetch-site", "none")]), 200);
    }

    #[test]
    fn a_route_for_one_origin_takes_no_other_and_not_none() {
        let own = ["chrome-extension://abc".to_owned()];
        let origin = |value: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(ORIGIN, value.parse().unwrap());
            }
            status(guard().origin(&headers, Some(&own)))
        };
        assert_eq!(origin(Some("chrome-extension://abc")), 200);
        for bad in [None, Some("chrome-extension://abcd"), Some("http://127.0.0.1:47800"), Some("null")] {
            assert_eq!(origin(bad), 403, "{bad:?}");
        }
    }

    #[test]
    fn the_origin_list_takes_no_patterns() {
        let list = OriginList::default();
        for bad in ["*", "null", "https://*.example", "example", "https://", "https://a/b", "https://a@b"] {
            assert!(list.set(vec![bad.into()]).is_err(), "{bad}");
        }
        assert!(list.set(vec!["http://localhost:3000".into(), "chrome-extension://abc".into()]).is_ok());
    }
}
