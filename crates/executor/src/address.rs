//! A gateway's address: checked once, then joined with the contract's paths.

use std::fmt;

use url::Url;

use crate::error::{ExecutorError, Result};

/// A gateway's base address, without a trailing slash; a path prefix is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(Url);

/// One of the two sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// `computer_*`.
    Computer,
    /// `browser_*`.
    Browser,
}

impl Service {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Computer, Self::Browser];

    /// As in paths and tool prefixes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Computer => "computer",
            Self::Browser => "browser",
        }
    }

    /// Whether a tool of that name comes over this socket.
    #[must_use]
    pub fn serves(self, tool: &str) -> bool {
        tool.strip_prefix(self.name()).is_some_and(|rest| rest.starts_with('_'))
    }
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// [`ExecutorError::Address`] when it is no http or https address, or holds a user, a query or a fragment.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |shown: &str, why: &str| ExecutorError::Address { address: shown.to_owned(), why: why.to_owned() };
        let trimmed = text.trim().trim_end_matches('/');
        let lower = trimmed.get(..8).unwrap_or(trimmed).to_ascii_lowercase();
        if !lower.starts_with("http://") && !lower.starts_with("https://") {
            // What is before an @ may be a password.
            return Err(wrong(trimmed.rsplit('@').next().unwrap_or_default(), "it has another beginning"));
        }
        let url = Url::parse(trimmed).map_err(|error| wrong("", &error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(url.host_str().unwrap_or_default(), "it holds a user or a password, which are asked for apart"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong(url.host_str().unwrap_or_default(), "it holds a query or a fragment"));
        }
        Ok(Self(url))
    }

    /// The address of a path of the contract, e.g. `api/login`.
    #[must_use]
    pub fn join(&self, path: &str) -> String {
        format!("{self}/{path}")
    }

    /// The address of a socket.
    #[must_use]
    pub fn socket(&self, service: Service) -> String {
        let http = self.join(&format!("api/{}/ws", service.name()));
        // http → ws, https → wss.
        format!("ws{}", http.strip_prefix("http").unwrap_or_default())
    }

    /// Host name, with the port unless it is the scheme's own.
    #[must_use]
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether it goes over TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The warning that must be confirmed before this address is used: plain HTTP that leaves this machine.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let local = match self.0.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
            Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        };
        (!self.is_tls() && !local).then(|| {
            format!(
                "{self} is plain HTTP: anyone on the way can read your password, take over this desktop with your token, and see everything on its screen. Use https://, or confirm that you accept this risk (--allow-plain-http)."
            )
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_go_and_a_prefix_stays() {
        let address = Address::parse(" https://desk.example.org/aide/// ").unwrap();
        assert_eq!(address.to_string(), "https://desk.example.org/aide");
        assert_eq!(address.join("api/login"), "https://desk.example.org/aide/api/login");
        assert_eq!(address.socket(Service::Browser), "wss://desk.example.org/aide/api/browser/ws");
        assert_eq!(Address::parse("HTTP://127.0.0.1:8080/").unwrap().socket(Service::Computer), "ws://127.0.0.1:8080/api/computer/ws");
        assert_eq!(Address::parse("http://127.0.0.1:8080").unwrap().host(), "127.0.0.1:8080");
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_a_password() {
        for bad in ["", "desk.example.org", "ftp://x", "http://", "https://user:hush@x", "user:hush@x", "http://x?token=hush", "http://x#y"]
        {
            let error = Address::parse(bad).unwrap_err().to_string();
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn plain_http_warns_unless_it_stays_here() {
        assert!(Address::parse("http://desk.example.org").unwrap().warning().unwrap().contains("see everything on its screen"));
        for fine in ["https://desk.example.org", "http://127.0.0.1:1", "http://localhost", "http://[::1]:2"] {
            assert_eq!(Address::parse(fine).unwrap().warning(), None, "{fine}");
        }
    }
}
