//! Third-party MCP servers: how each is reached, and one list of their tools.
//!
//! The gateway is their client. Their tools appear as `mcp_<server>_<tool>`; a server that does not answer is simply
//! absent from a list, and a call to it is an error in words.

mod correlation;
mod http;
mod sse;
mod stdio;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::answer::Answer;
use crate::catalogue::listed;
use crate::error::{GatewayError, Result};
use crate::store::{ServerRow, Store};

/// How long a server may take to list its tools.
const LIST_WITHIN: Duration = Duration::from_secs(5);
/// How long a call to a third-party tool may take.
const CALL_WITHIN: Duration = Duration::from_secs(30);
/// How old a list of tools may be.
const LIST_FRESH: Duration = Duration::from_secs(10);
/// How old the list of servers may be: `server add` is another process.
const SERVERS_FRESH: Duration = Duration::from_secs(1);
/// Tools of one server at most.
const MOST_TOOLS: usize = 300;
/// Pages of `tools/list` read at most.
const MOST_PAGES: usize = 20;
/// The protocol revision the gateway asks for.
pub(crate) const PROTOCOL: &str = "2025-06-18";

/// How a server is reached. `Debug` shows no values of env and headers.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ServerSpec {
    /// A program that speaks on stdin and stdout.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Additional environment.
        #[serde(default)]
        env: BTreeMap<String, String>,
    },
    /// Streamable HTTP.
    Http {
        /// The address to post to.
        url: String,
        /// Headers of every request.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// The older HTTP+SSE.
    Sse {
        /// The address of the stream.
        url: String,
        /// Headers of every request.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
}

impl std::fmt::Debug for ServerSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.summary())
    }
}

impl ServerSpec {
    /// One line without secrets: kind, and program or address (no query, no user part), names of env and headers.
    #[must_use]
    pub fn summary(&self) -> String {
        let names = |map: &BTreeMap<String, String>| {
            if map.is_empty() { String::new() } else { format!(" with {}", map.keys().cloned().collect::<Vec<_>>().join(", ")) }
        };
        let address = |text: &str| {
            url::Url::parse(text).map_or_else(|_| "?".to_owned(), |url| format!("{}{}", url.origin().ascii_serialization(), url.path()))
        };
        match self {
            Self::Stdio { command, args, env } => format!("stdio {command} ({} arguments){}", args.len(), names(env)),
            Self::Http { url, headers } => format!("http {}{}", address(url), names(headers)),
            Self::Sse { url, headers } => format!("sse {}{}", address(url), names(headers)),
        }
    }

    /// Refuses what cannot work.
    ///
    /// # Errors
    /// `Invalid` in words.
    pub fn check(&self) -> Result<()> {
        let wrong = |text: String| Err(GatewayError::Invalid(text));
        match self {
            Self::Stdio { command, .. } if command.is_empty() => wrong("a stdio server needs a command".into()),
            Self::Stdio { .. } => Ok(()),
            Self::Http { url, headers } | Self::Sse { url, headers } => {
                if !url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
                    return wrong("the server's address must begin with http:// or https://".into());
                }
                for (name, value) in headers {
                    if axum::http::HeaderName::try_from(name).is_err() || axum::http::HeaderValue::try_from(value).is_err() {
                        return wrong(format!("the header {name:?} is not well formed"));
                    }
                }
                Ok(())
            }
        }
    }
}

/// Why a third-party server gave no result.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum UpstreamError {
    #[error("it could not be reached: {0}")]
    Unreachable(String),
    #[error("it ended or closed the connection before it answered")]
    Gone,
    #[error("it did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("it answered with an error: {0}")]
    Refused(String),
    #[error("its answer was not understood: {0}")]
    Malformed(String),
}

/// A connection to one server, whatever the transport. It initialises and reconnects by itself.
#[async_trait]
pub(crate) trait Peer: Send + Sync {
    /// Sends a request and waits for its result. Dropping the future cancels the request.
    async fn request(&self, method: &str, params: Value) -> std::result::Result<Value, UpstreamError>;
}

struct Upstream {
    spec: ServerSpec,
    peer: Arc<dyn Peer>,
    /// Serialises listing, so that many agents ask a server once.
    tools: tokio::sync::Mutex<Option<(Instant, Arc<Vec<Value>>)>>,
}

/// All third-party servers.
pub struct Upstreams {
    store: Store,
    client: reqwest::Client,
    servers: Mutex<HashMap<String, Arc<Upstream>>>,
    read_at: tokio::sync::Mutex<Option<Instant>>,
}

impl std::fmt::Debug for Upstreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.servers.lock().keys()).finish()
    }
}

impl Upstreams {
    /// Over the servers in that database.
    #[must_use]
    pub fn new(store: Store, client: reqwest::Client) -> Self {
        Self { store, client, servers: Mutex::new(HashMap::new()), read_at: tokio::sync::Mutex::new(None) }
    }

    /// Takes over changes of the database: new servers start, changed ones restart, removed ones stop.
    ///
    /// # Errors
    /// `Database`.
    pub async fn refresh(&self) -> Result<()> {
        let mut read_at = self.read_at.lock().await;
        if read_at.is_some_and(|at| at.elapsed() < SERVERS_FRESH) {
            return Ok(());
        }
        let rows = self.store.servers().await?;
        *read_at = Some(Instant::now());
        let mut servers = self.servers.lock();
        servers.retain(|name, server| rows.iter().any(|row| row.name == *name && row.spec == server.spec));
        for ServerRow { name, spec } in rows {
            servers.entry(name).or_insert_with_key(|name| {
                let peer = connect(name, &spec, &self.client);
                Arc::new(Upstream { spec, peer, tools: tokio::sync::Mutex::new(None) })
            });
        }
        Ok(())
    }

    fn server(&self, name: &str) -> Option<Arc<Upstream>> {
        self.servers.lock().get(name).cloned()
    }

    /// The tools of those servers, under their outer names; servers that do not answer are left out.
    pub async fn tools(&self, names: &[String]) -> Vec<Value> {
        let listing = names.iter().map(|name| async move {
            let server = self.server(name)?;
            match server.list().await {
                Ok(tools) => Some(tools.iter().filter_map(|tool| outer(name, tool)).collect::<Vec<_>>()),
                Err(error) => {
                    tracing::warn!(server = name, %error, "third-party server lists no tools");
                    None
                }
            }
        });
        futures_util::future::join_all(listing).await.into_iter().flatten().flatten().collect()
    }

    /// Calls `tool` (its inner name) of `server`.
    pub async fn call(&self, server: &str, tool: &str, arguments: &Value) -> Answer {
        let Some(upstream) = self.server(server) else {
            return Answer::error(format!("The server {server} is not configured any more; list the tools again."));
        };
        let params = json!({"name": tool, "arguments": arguments});
        let result = match timeout(CALL_WITHIN, upstream.peer.request("tools/call", params)).await {
            Ok(result) => result,
            Err(_) => Err(UpstreamError::TimedOut(CALL_WITHIN)),
        };
        match result {
            Ok(result) => Answer::from_mcp(result),
            Err(error) => Answer::error(format!(
                "The server {server} gave no result for {tool}: {error}. Try again, or ask the gateway's administrator."
            )),
        }
    }

    /// Stops all servers.
    pub fn stop(&self) {
        self.servers.lock().clear();
    }
}

impl Upstream {
    async fn list(&self) -> std::result::Result<Arc<Vec<Value>>, UpstreamError> {
        let mut cached = self.tools.lock().await;
        if let Some((at, tools)) = cached.as_ref()
            && at.elapsed() < LIST_FRESH
        {
            return Ok(Arc::clone(tools));
        }
        let tools = match timeout(LIST_WITHIN, self.pages()).await {
            Ok(tools) => Arc::new(tools?),
            Err(_) => return Err(UpstreamError::TimedOut(LIST_WITHIN)),
        };
        *cached = Some((Instant::now(), Arc::clone(&tools)));
        Ok(tools)
    }

    async fn pages(&self) -> std::result::Result<Vec<Value>, UpstreamError> {
        let mut tools = Vec::new();
        let mut params = json!({});
        for _ in 0..MOST_PAGES {
            let mut page = self.peer.request("tools/list", params).await?;
            match page.get_mut("tools").map(Value::take) {
                Some(Value::Array(more)) => tools.extend(more),
                _ => return Err(UpstreamError::Malformed("tools/list without tools".into())),
            }
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(cursor) if tools.len() < MOST_TOOLS => params = json!({"cursor": cursor}),
                _ => break,
            }
        }
        tools.truncate(MOST_TOOLS);
        Ok(tools)
    }
}

fn connect(name: &str, spec: &ServerSpec, client: &reqwest::Client) -> Arc<dyn Peer> {
    match spec {
        ServerSpec::Stdio { command, args, env } => Arc::new(stdio::StdioPeer::start(name, command, args, env)),
        ServerSpec::Http { url, headers } => Arc::new(http::HttpPeer::new(client.clone(), url, headers)),
        ServerSpec::Sse { url, headers } => Arc::new(sse::SsePeer::new(client.clone(), url, headers)),
    }
}

/// The name of a server's tool as agents see it.
#[must_use]
pub(crate) fn outer_name(server: &str, tool: &str) -> String {
    format!("mcp_{server}_{tool}")
}

/// Which of `servers` an outer name belongs to, with the inner name. The longest server name wins, so that `a` and
/// `a_b` can stand side by side.
#[must_use]
pub(crate) fn inner_name<'a>(servers: &'a [String], name: &'a str) -> Option<(&'a str, &'a str)> {
    let rest = name.strip_prefix("mcp_")?;
    let fits = |server: &'a String| Some((server.as_str(), rest.strip_prefix(server.as_str())?.strip_prefix('_')?));
    servers.iter().filter_map(fits).filter(|(_, tool)| !tool.is_empty()).max_by_key(|(server, _)| server.len())
}

fn outer(server: &str, tool: &Value) -> Option<Value> {
    let name = outer_name(server, tool.get("name")?.as_str()?);
    let fine = name.len() <= 128 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-/".contains(&b));
    fine.then(|| listed(&name, tool))
}

/// The gateway's own `initialize` parameters.
pub(crate) fn initialize_params() -> Value {
    json!({
        "protocolVersion": PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "deskhand-gateway", "version": env!("CARGO_PKG_VERSION")},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_out_and_come_back() {
        let servers = ["a".to_owned(), "a_b".to_owned()];
        assert_eq!(inner_name(&servers, "mcp_a_b_c"), Some(("a_b", "c")));
        assert_eq!(inner_name(&servers, "mcp_a_c_b"), Some(("a", "c_b")));
        assert_eq!(inner_name(&servers, "mcp_x_c"), None);
        assert_eq!(inner_name(&servers, "mcp_a_"), None);
    }

    #[test]
    fn a_summary_shows_no_secret() {
        let map = BTreeMap::from([("Authorization".to_owned(), "Bearer hush".to_owned())]);
        let spec = ServerSpec::Http { url: "https://user:hush@example.org/mcp?key=hush".into(), headers: map };
        assert_eq!(format!("{spec:?}"), "http https://example.org/mcp with Authorization");
        assert!(ServerSpec::Http { url: "ftp://x".into(), headers: BTreeMap::new() }.check().is_err());
    }
}
