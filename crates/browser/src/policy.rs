//! Where the browser may go, said once and asked at two places: before a navigation that a caller names, and by the
//! browser itself for each request that leaves it (redirects, links, scripts), through a few interception patterns that
//! match only what may have to be refused, so that everything else runs at full speed.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use url::{Host, Url};

/// Whether an agent may see the page of a local file.
pub type FileRule = Arc<dyn Fn(&Path) -> Result<(), String> + Send + Sync>;
/// The real path of a file that an agent wants to hand to a page, or why it may not.
pub type UploadRule = Arc<dyn Fn(&str) -> Result<PathBuf, String> + Send + Sync>;

/// A refusal in Deskhand's own words; the browser was not asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is refused: {why}")]
pub struct Refused {
    /// The address or file.
    pub what: String,
    /// The rule and the next step.
    pub why: String,
}

/// What is allowed. Cheap to clone.
#[derive(Clone)]
pub struct Policy {
    blocked: Arc<Vec<OriginRule>>,
    files: FileRule,
    uploads: UploadRule,
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy").field("blocked", &self.blocked).finish_non_exhaustive()
    }
}

impl Default for Policy {
    /// No local file, no upload, no blocked origin.
    fn default() -> Self {
        Self {
            blocked: Arc::default(),
            files: Arc::new(|_| Err("no folder is allowed".to_owned())),
            uploads: Arc::new(|_| Err("no folder is allowed".to_owned())),
        }
    }
}

impl Policy {
    /// A policy with these blocked origins (`https://a.example`, `a.example`, `*.a.example`, `a.example:8080`).
    ///
    /// # Errors
    /// Names the first origin that is none.
    pub fn new<S: AsRef<str>>(blocked: &[S], files: FileRule, uploads: UploadRule) -> Result<Self, String> {
        let blocked = blocked.iter().map(|s| OriginRule::parse(s.as_ref())).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { blocked: Arc::new(blocked), files, uploads })
    }

    /// The address that a caller's text means.
    ///
    /// # Errors
    /// [`Refused`] when it is no address, or one that may not be opened.
    pub fn address(&self, text: &str) -> Result<Url, Refused> {
        let refused = |why: &str| Refused { what: format!("{text:?}"), why: why.to_owned() };
        let trimmed = text.trim();
        let url = Url::parse(trimmed).map_err(|_| refused("it is not a URL; write it in full, such as https://example.com/page"))?;
        match url.scheme() {
            "http" | "https" if !url.has_host() => Err(refused("it is not a URL that names a host")),
            "http" | "https" => self.check(&url).map(|()| url),
            "about" if trimmed.eq_ignore_ascii_case("about:blank") => Ok(url),
            "file" => self.file(&url).map(|()| url),
            _ => Err(refused("its scheme may not be opened; http, https, about:blank and files in allowed folders may")),
        }
    }

    /// Whether the page of this `file:` address may be shown.
    ///
    /// # Errors
    /// [`Refused`] with the reason of whoever decides about files.
    pub(crate) fn file(&self, url: &Url) -> Result<(), Refused> {
        let refused = |why: String| Refused { what: url.to_string(), why };
        let path = url.to_file_path().map_err(|()| refused("it does not name a local file".to_owned()))?;
        (self.files)(&path).map_err(refused)
    }

    /// Whether a request may go to this http or https address.
    ///
    /// # Errors
    /// [`Refused`] with the rule.
    pub fn check(&self, url: &Url) -> Result<(), Refused> {
        let refused = |why: String| Refused { what: url.to_string(), why };
        if let Some(kind) = forbidden_host(url) {
            return Err(refused(format!("{kind} are never opened, because they reveal the machine's own credentials")));
        }
        match self.blocked.iter().find(|rule| rule.matches(url)) {
            Some(rule) => Err(refused(format!("{} is on the person's list of blocked origins", rule.text))),
            None => Ok(()),
        }
    }

    /// Whether an address that a host name led to may be spoken to.
    #[must_use]
    pub fn allows_ip(&self, ip: std::net::IpAddr) -> bool {
        !match ip {
            std::net::IpAddr::V4(v4) => is_forbidden_v4(v4),
            std::net::IpAddr::V6(v6) => is_forbidden_v6(v6),
        }
    }

    /// The file to hand to a page for this path of a caller.
    ///
    /// # Errors
    /// [`Refused`] with the reason of whoever decides about files.
    pub fn upload(&self, path: &str) -> Result<PathBuf, Refused> {
        (self.uploads)(path).map_err(|why| Refused { what: format!("uploading {path:?}"), why })
    }

    /// Patterns of `Fetch.enable`: only requests that match one are stopped and asked about.
    #[must_use]
    pub fn patterns(&self) -> Vec<String> {
        let fixed = [
            "*://169.254.*",
            "*://[fe8*",
            "*://[fe9*",
            "*://[fea*",
            "*://[feb*",
            "*://[fd00:ec2:*",
            "*://[::ffff:a9fe:*",
            "*://metadata.goog*",
            "*://100.100.100.200*",
            "*://168.63.129.16*",
        ];
        let all = fixed.iter().map(|s| (*s).to_owned()).chain(self.blocked.iter().map(OriginRule::pattern));
        // A user name before the host must not hide it. A page from an allowed folder may name any other file.
        all.flat_map(|p| [p.replacen("://", "://*@", 1), p]).chain(["file:*".to_owned()]).collect()
    }

    /// Rules for a browser of our own that make what is forbidden impossible to reach, whoever asks for it: WebSockets
    /// and shared workers are beyond `Fetch`. The words of a refusal come from the checks above; this is the wall behind.
    pub(crate) fn unreachable(&self) -> String {
        let fixed = [
            "169.254.*.*",
            "100.100.100.200",
            "168.63.129.16",
            "metadata.google.internal",
            "metadata.goog",
            "[fe8*",
            "[fe9*",
            "[fea*",
            "[feb*",
            "[fd00:ec2:*",
            "[::ffff:a9fe:*",
        ];
        let all = fixed.iter().map(|s| (*s).to_owned()).chain(self.blocked.iter().flat_map(OriginRule::hosts));
        all.map(|host| format!("MAP {host} ^NOTFOUND")).collect::<Vec<_>>().join(",")
    }
}

fn forbidden_host(url: &Url) -> Option<&'static str> {
    let forbidden = match url.host()? {
        Host::Ipv4(ip) => is_forbidden_v4(ip),
        Host::Ipv6(ip) => is_forbidden_v6(ip),
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "metadata.google.internal" || name == "metadata.goog"
        }
    };
    forbidden.then_some("link-local and cloud metadata addresses")
}

fn is_forbidden_v4(ip: Ipv4Addr) -> bool {
    // 100.100.100.200 and 168.63.129.16 are the metadata services of two clouds outside the link-local range.
    ip.is_link_local() || ip == Ipv4Addr::new(100, 100, 100, 200) || ip == Ipv4Addr::new(168, 63, 129, 16)
}

fn is_forbidden_v6(ip: Ipv6Addr) -> bool {
    let metadata = ip.segments()[..2] == [0xfd00, 0x0ec2];
    ip.is_unicast_link_local() || metadata || ip.to_ipv4_mapped().is_some_and(is_forbidden_v4)
}

#[derive(Debug, Clone)]
struct OriginRule {
    text: String,
    scheme: Option<String>,
    host: String,
    subdomains: bool,
    port: Option<u16>,
}

impl OriginRule {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not an origin; write https://host, host, host:port or *.host");
        let (scheme, rest) = match text.trim().split_once("://") {
            Some((s, r)) => (Some(s.to_ascii_lowercase()), r),
            None => (None, text.trim()),
        };
        let rest = rest.trim_end_matches('/');
        let (subdomains, rest) = rest.strip_prefix("*.").map_or((false, rest), |r| (true, r));
        if rest.is_empty() || rest.contains(['/', '?', '#', '@', '*', ' ']) {
            return Err(wrong());
        }
        let url = Url::parse(&format!("http://{rest}/")).map_err(|_| wrong())?;
        let host = url.host_str().ok_or_else(wrong)?.to_owned();
        // `Url` drops port 80 as http's own; the text still says it.
        let port = url.port().or_else(|| rest.ends_with(":80").then_some(80));
        Ok(Self { text: text.trim().to_owned(), scheme, host, subdomains, port })
    }

    fn matches(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        let same = host == self.host || self.subdomains && host.strip_suffix(&self.host).is_some_and(|h| h.ends_with('.'));
        same && self.scheme.as_deref().is_none_or(|s| s == url.scheme()) && self.port.is_none_or(|p| url.port_or_known_default() == Some(p))
    }

    /// As patterns of `--host-resolver-rules`.
    fn hosts(&self) -> Vec<String> {
        let port = self.port.or(match self.scheme.as_deref() {
            Some("https" | "wss") => Some(443),
            Some(_) => Some(80),
            None => None,
        });
        let port = port.map(|p| format!(":{p}")).unwrap_or_default();
        let mut all = vec![format!("{}{port}", self.host)];
        if self.subdomains {
            all.push(format!("*.{}{port}", self.host));
        }
        all
    }

    fn pattern(&self) -> String {
        let scheme = self.scheme.as_deref().unwrap_or("*");
        let dot = if self.subdomains { "*" } else { "" };
        format!("{scheme}://{dot}{}*", self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        Policy::new(
            &["https://bad.example", "*.worse.example", "local.example:8080"],
            Arc::new(|p| if p.starts_with("/ok") { Ok(()) } else { Err("it is outside the allowed folders".into()) }),
            Arc::new(|p| Ok(p.into())),
        )
        .unwrap()
    }

    #[test]
    fn only_pages_that_may_be_opened_are() {
        let p = policy();
        for good in [
            "http://example.com",
            "https://example.com/a?b#c",
            "about:blank",
            "file:///ok/a.html",
            " http://127.0.0.1:1/ ",
            "http://[::1]/",
        ] {
            assert!(p.address(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "not a url",
            "http://",
            "example.com",
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "data:text/html,x",
            "view-source:http://a/",
            "chrome://settings",
            "about:config",
            "file:///etc/passwd",
            "ftp://a/",
            "blob:http://a/1",
            "http://169.254.169.254/",
            "http://169.254.1.1:81/",
            "http://[fe80::1]/",
            "http://2852039166/",
            "http://0xa9fea9fe/",
            "http://[::ffff:169.254.169.254]/",
            "http://metadata.google.internal/",
            "http://[fd00:ec2::254]/",
            "https://bad.example/x",
            "http://a.worse.example/",
            "http://worse.example./",
            "http://local.example:8080/",
        ] {
            assert!(p.address(bad).is_err(), "{bad}");
        }
        for near in ["http://bad.example/", "https://notbad.example/", "http://notworse.example/", "http://local.example/"] {
            assert!(p.address(near).is_ok(), "{near}");
        }
    }

    #[test]
    fn an_origin_that_is_none_is_named() {
        let none: FileRule = Arc::new(|_| Ok(()));
        let up: UploadRule = Arc::new(|p| Ok(p.into()));
        for bad in ["", "http://", "a b", "http://x/path", "*"] {
            assert!(Policy::new(&[bad], none.clone(), up.clone()).unwrap_err().contains("not an origin"), "{bad}");
        }
    }

    #[test]
    fn every_forbidden_address_is_asked_about_at_each_hop() {
        let p = policy();
        let hit = |u: &str| p.patterns().iter().any(|pattern| glob(pattern, u));
        for u in [
            "http://169.254.169.254:81/latest",
            "http://[fe80::1]/",
            "http://[::ffff:a9fe:a9fe]/",
            "https://bad.example/x",
            "http://a.worse.example/",
            "http://local.example:8080/",
        ] {
            assert!(hit(u), "{u}");
        }
        assert!(!hit("http://127.0.0.1:80/"));
    }

    #[test]
    fn a_browser_of_our_own_cannot_reach_what_is_blocked() {
        let rules = policy().unreachable();
        for wanted in
            ["MAP bad.example:443 ^", "MAP worse.example ^", "MAP *.worse.example ^", "MAP local.example:8080 ^", "MAP 169.254.*.* ^"]
        {
            assert!(rules.contains(wanted), "{wanted} in {rules}");
        }
    }

    fn glob(pattern: &str, text: &str) -> bool {
        match pattern.split_once('*') {
            None => pattern == text,
            Some((head, tail)) => text
                .strip_prefix(head)
                .is_some_and(|rest| tail.is_empty() || (0..=rest.len()).any(|i| rest.is_char_boundary(i) && glob(tail, &rest[i..]))),
        }
    }
}
