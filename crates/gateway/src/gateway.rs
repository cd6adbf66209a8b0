//! The gateway as one value: what every route and task shares.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::answer::Answer;
use crate::catalogue::Catalogue;
use crate::cron::{Cron, Webhook};
use crate::error::Result;
use crate::hub::{Close, Ending, Hub, HubLimits, Service};
use crate::journal::{Entry, Journal};
use crate::keys::ServerKey;
use crate::metrics::Metrics;
use crate::platform;
use crate::store::{Store, now_ms};
use crate::upstream::{Upstreams, inner_name};

/// How often connected executors' tokens are checked.
const RECHECK: Duration = Duration::from_secs(3);

/// What the gateway is made of.
#[derive(Debug)]
pub struct Gateway {
    /// Database.
    pub store: Store,
    /// Tokens and sessions.
    pub access: Access,
    /// Connected executors.
    pub hub: Arc<Hub>,
    /// Tool lists.
    pub catalogue: Arc<Catalogue>,
    /// Third-party servers.
    pub upstreams: Upstreams,
    /// Scheduled prompts.
    pub cron: Arc<Cron>,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Last calls.
    pub journal: Journal,
    /// Folder of the skills.
    pub skills_dir: PathBuf,
    /// Fires when the gateway goes down.
    pub stop: CancellationToken,
}

/// What to make a [`Gateway`] of.
#[derive(Debug)]
pub struct Parts {
    /// Database.
    pub store: Store,
    /// Key that tokens derive from.
    pub key: ServerKey,
    /// Folder of the skills.
    pub skills_dir: PathBuf,
    /// Where cron entries go.
    pub webhook: Option<Webhook>,
    /// Bounds of the hub.
    pub limits: HubLimits,
    /// The generated tool list, JSON.
    pub tools: &'static str,
}

/// One MCP service of the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceName {
    /// `computer` or `browser`.
    Executor(Service),
    /// `agent`: everything the user has.
    Agent,
    /// One third-party server.
    Server(String),
}

impl Gateway {
    /// Puts the parts together. Starts nothing yet: see [`run_tasks`](Self::run_tasks).
    ///
    /// # Errors
    /// `Tls` when no HTTP client can be made.
    pub fn new(parts: Parts) -> Result<Arc<Self>> {
        let metrics = Arc::new(Metrics::default());
        Ok(Arc::new(Self {
            access: Access::new(parts.store.clone(), parts.key),
            hub: Arc::new(Hub::new(parts.limits)),
            catalogue: Arc::new(Catalogue::new(parts.tools)),
            upstreams: Upstreams::new(parts.store.clone(), crate::tls::client()?),
            cron: Arc::new(Cron::new(parts.store.clone(), parts.webhook, Arc::clone(&metrics))),
            store: parts.store,
            metrics,
            journal: Journal::default(),
            skills_dir: parts.skills_dir,
            stop: CancellationToken::new(),
        }))
    }

    /// Runs cron, the third-party servers and the watch over tokens until the gateway stops.
    pub async fn run_tasks(self: &Arc<Self>) {
        let watch = async {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(RECHECK) => {}
                    () = self.stop.cancelled() => return,
                }
                if let Err(error) = self.recheck().await {
                    tracing::error!(%error, "cannot recheck tokens");
                }
            }
        };
        tokio::join!(Arc::clone(&self.cron).run(self.stop.clone()), watch);
    }

    /// Closes executors whose token was reset by another process, and takes over changes of the servers.
    async fn recheck(&self) -> Result<()> {
        self.upstreams.refresh().await?;
        if self.hub.connected() == 0 {
            return Ok(());
        }
        let current = self.store.generations().await?;
        for link in self.hub.links().iter().filter(|link| current.get(link.user()).is_none_or(|now| *now > link.generation())) {
            link.close(Close::Revoked);
        }
        Ok(())
    }

    /// Makes the user's token void and closes their executors.
    ///
    /// # Errors
    /// `Missing` or `Database`.
    pub async fn reset_token(&self, user: &str) -> Result<()> {
        self.store.raise_generation(user).await?;
        self.access.forget(user);
        self.hub.close_user(user, Close::Revoked);
        Ok(())
    }

    /// The service of that name, as `user` may see it; a server without a grant is not there.
    ///
    /// # Errors
    /// `Database`.
    pub async fn service(&self, user: &str, name: &str) -> Result<Option<ServiceName>> {
        Ok(match name {
            "computer" => Some(ServiceName::Executor(Service::Computer)),
            "browser" => Some(ServiceName::Executor(Service::Browser)),
            "agent" => Some(ServiceName::Agent),
            _ => {
                self.upstreams.refresh().await?;
                let granted = self.store.granted(user).await?;
                granted.iter().any(|server| server == name).then(|| ServiceName::Server(name.to_owned()))
            }
        })
    }

    /// What `tools/list` of that service shows to that user now.
    ///
    /// # Errors
    /// `Database`.
    pub async fn tools(&self, user: &str, service: &ServiceName) -> Result<Vec<Value>> {
        match service {
            ServiceName::Executor(service) => Ok(self.catalogue.tools(&self.hub, user, *service).to_vec()),
            ServiceName::Server(name) => {
                self.upstreams.refresh().await?;
                Ok(self.upstreams.tools(std::slice::from_ref(name)).await)
            }
            ServiceName::Agent => {
                let mut tools = platform::tools();
                for service in Service::ALL {
                    tools.extend(self.catalogue.tools(&self.hub, user, service).iter().cloned());
                }
                self.upstreams.refresh().await?;
                tools.extend(self.upstreams.tools(&self.store.granted(user).await?).await);
                Ok(tools)
            }
        }
    }

    /// Runs a tool by its name; `None` when this service has none of that name. Dropping the future cancels the call.
    ///
    /// # Errors
    /// `Database`.
    pub async fn call(&self, user: &str, service: &ServiceName, tool: &str, arguments: &Value) -> Result<Option<Answer>> {
        let mut record = Record::new(self, user, tool);
        let answer = self.route(user, service, tool, arguments).await?;
        match &answer {
            Some((_, ending)) => record.end(ending),
            None => record.forget(),
        }
        Ok(answer.map(|(answer, _)| answer))
    }

    async fn route(&self, user: &str, service: &ServiceName, tool: &str, arguments: &Value) -> Result<Option<(Answer, &'static str)>> {
        let all = *service == ServiceName::Agent;
        if let Some(of) = Service::of_tool(tool) {
            if !all && *service != ServiceName::Executor(of) {
                return Ok(None);
            }
            let (answer, ending) = self.hub.call(user, of, tool, arguments).await;
            return Ok(Some((answer, ending_name(ending))));
        }
        if tool.starts_with(platform::PREFIX) {
            if !all {
                return Ok(None);
            }
            let answer = platform::call(self, user, tool, arguments).await;
            return Ok(answer.map(plain_ending));
        }
        self.upstreams.refresh().await?;
        let granted = self.store.granted(user).await?;
        let Some((server, inner)) = inner_name(&granted, tool) else { return Ok(None) };
        if !all && *service != ServiceName::Server(server.to_owned()) {
            return Ok(None);
        }
        Ok(Some(plain_ending(self.upstreams.call(server, inner, arguments).await)))
    }

    /// The gateway's state for the page's reader.
    #[must_use]
    pub fn counts(&self) -> Value {
        let of = |service| self.hub.links().iter().filter(|link| link.service() == service).count();
        json!({"computer": of(Service::Computer), "browser": of(Service::Browser)})
    }
}

fn plain_ending(answer: Answer) -> (Answer, &'static str) {
    let ending = if answer.is_error { "error" } else { "ok" };
    (answer, ending)
}

const fn ending_name(ending: Ending) -> &'static str {
    match ending {
        Ending::Answered => "ok",
        Ending::Refused => "error",
        Ending::NotConnected => "not connected",
        Ending::TimedOut => "timed out",
        Ending::Lost => "lost",
        Ending::Busy => "busy",
    }
}

/// Notes a call in journal and metrics on every way out; a dropped future is a cancelled call.
struct Record<'a> {
    gateway: &'a Gateway,
    user: &'a str,
    tool: &'a str,
    began: Instant,
    ending: Option<&'static str>,
}

impl<'a> Record<'a> {
    fn new(gateway: &'a Gateway, user: &'a str, tool: &'a str) -> Self {
        Self { gateway, user, tool, began: Instant::now(), ending: Some("cancelled") }
    }

    fn end(&mut self, ending: &'static str) {
        self.ending = Some(ending);
    }

    /// It was no call: the name is unknown.
    fn forget(&mut self) {
        self.ending = None;
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        let Some(ending) = self.ending else { return };
        let took = self.began.elapsed();
        self.gateway.metrics.call(ending, took);
        self.gateway.journal.note(Entry {
            at_ms: now_ms(),
            user: self.user.to_owned(),
            tool: self.tool.chars().take(128).collect(),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            ending,
        });
    }
}
