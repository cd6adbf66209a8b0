//! Going somewhere: an address, back, forward, again. Each tells what came: a document, the same one at another place,
//! a download, nothing, or the browser's own error.

use std::net::IpAddr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;
use url::{Host, Url};

use super::Page;
use crate::error::BrowserError;
use crate::policy::Refused;
use crate::tab::{Lost, Moment};

/// How long a server may take to answer at all.
const ANSWER: Duration = Duration::from_secs(15);
/// How long a document that came may take to fire `load` before it is told as still loading.
const LOAD: Duration = Duration::from_secs(12);
/// How long the news of another place in the same document may lag behind.
const PLACE: Duration = Duration::from_secs(2);
/// How long a page of the back-forward cache may lag behind the end of its loading.
const RESTORE: Duration = Duration::from_secs(1);
/// How long a name is looked up to see whether it leads to a forbidden address.
const LOOKUP: Duration = Duration::from_millis(800);

/// Where a navigation led.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Arrived {
    /// The address that the tab shows now.
    pub url: String,
    /// Its title.
    pub title: String,
    /// The HTTP status; absent for pages without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether only the place within the same document changed.
    pub same_document: bool,
    /// Whether the page had not finished loading when this was told.
    pub loading: bool,
}

/// Where a step through the history led.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Went {
    /// The address that the tab shows now.
    pub url: String,
    /// Whether only the place within the same document changed.
    pub same_document: bool,
    /// Whether the page had not finished loading when this was told.
    pub loading: bool,
}

impl Page {
    /// Opens an address in the tab and waits for its `load`.
    ///
    /// # Errors
    /// `Refused` by policy, `Load` with the net error, `TimedOut` when the server does not answer.
    pub async fn navigate(&self, address: &str) -> Result<Arrived, BrowserError> {
        let url = self.tab.policy().address(address)?;
        self.check_name(&url).await?;
        self.tab.revive();
        // A page that a dialog blocks can still be left: the browser itself carries out the order.
        let silent = !self.tab.first_answer().await?;
        let before = self.begin();
        let asked = self.tab.send("Page.navigate", json!({"url": url.as_str()}));
        let limit = self.until(ANSWER);
        let Ok(answer) = tokio::time::timeout_at(limit, asked).await else {
            return Err(self.give_up(&url).await);
        };
        let answer = match answer {
            Err(BrowserError::Failed(reason)) => return Err(BrowserError::Load { url: url.to_string(), reason }),
            other => other?,
        };
        if let Some(error) = answer["errorText"].as_str().filter(|e| !e.is_empty()) {
            return self.not_opened(&url, error, answer["isDownload"] == true, &before).await;
        }
        if silent {
            self.tab.ensure_ready().await?;
        }
        let same_document = answer["loaderId"].is_null();
        self.load(&before, same_document).await;
        self.told(same_document).await
    }

    /// A name may lead to an address that may not be spoken to. What a page does later is watched by the browser's own
    /// interception, which sees names only.
    async fn check_name(&self, url: &Url) -> Result<(), BrowserError> {
        let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
        if name == "localhost" || self.tab.transport().kind() == crate::Kind::Extension {
            return Ok(());
        }
        let looked = tokio::time::timeout(LOOKUP, tokio::net::lookup_host((name, 80))).await;
        let Ok(Ok(found)) = looked else { return Ok(()) };
        let bad: Option<IpAddr> = found.map(|a| a.ip()).find(|ip| !self.tab.policy().allows_ip(*ip));
        match bad {
            Some(ip) => Err(Refused {
                what: url.to_string(),
                why: format!("its host leads to {ip}; link-local and cloud metadata addresses are never opened"),
            }
            .into()),
            None => Ok(()),
        }
    }

    fn begin(&self) -> Moment {
        self.tab.change(|s| s.moment.refused = None);
        self.tab.look(|s| s.moment.clone())
    }

    async fn give_up(&self, url: &Url) -> BrowserError {
        let _ = tokio::time::timeout(Duration::from_secs(1), self.tab.send("Page.stopLoading", json!({}))).await;
        BrowserError::TimedOut {
            what: format!("{url} did not answer, so the navigation was stopped; the tab shows what it showed before"),
            after: ANSWER,
        }
    }

    /// The browser says that no document came: why, in words.
    async fn not_opened(&self, url: &Url, error: &str, download: bool, before: &Moment) -> Result<Arrived, BrowserError> {
        if let Some(refused) = self.tab.look(|s| s.moment.refused.take()) {
            self.tab.look(|s| s.notices.notes.retain(|n| *n != refused.to_string()));
            let why = if refused.what == url.as_str() {
                refused.why
            } else {
                format!("{} (the address led there by redirect; nothing of it was read)", refused.why)
            };
            return Err(Refused { what: refused.what, why }.into());
        }
        if error.contains("ERR_ABORTED") {
            let begun = before.downloads;
            let came = self
                .tab
                .wait_for(Duration::from_millis(if download { 2000 } else { 400 }), |s| (s.moment.downloads != begun).then_some(()))
                .await;
            if download || came.is_some() {
                self.downloads(before).await;
                self.tab.look(|s| s.notices.note("a download started; the tab shows the page that it showed before"));
                return self.told(false).await;
            }
            return Err(BrowserError::Load {
                url: url.to_string(),
                reason: "the server sent no page (204 No Content, or the navigation was aborted); the tab shows what it showed before"
                    .to_owned(),
            });
        }
        Err(BrowserError::Load {
            url: url.to_string(),
            reason: format!("{}; the tab shows the browser's own error page, browser_go_back leaves it", net_error(error)),
        })
    }

    /// Waits until what came has loaded, for a limited time.
    async fn load(&self, before: &Moment, same_document: bool) {
        let limit = self.until(LOAD).saturating_duration_since(Instant::now());
        let commits = before.commits;
        if same_document {
            // The answer to the order may come before the news that the tab is at the new place.
            self.tab.wait_for(limit.min(PLACE), |s| (s.moment.within != before.within || s.lost.is_some()).then_some(())).await;
        }
        self.tab
            .wait_for(limit, |s| (s.lost.is_some() || (same_document || s.moment.commits != commits) && s.loaded()).then_some(()))
            .await;
    }

    /// Waits until a document came, or it is known that none will. Answers whether the browser gave up by itself.
    async fn come(&self, before: &Moment) -> bool {
        let arrived = |m: &Moment| m.commits != before.commits || m.within != before.within;
        let limit = self.until(ANSWER).saturating_duration_since(Instant::now());
        let ended = self.tab.wait_for(limit, |s| {
            let aborted = s.moment.aborted != before.aborted;
            (arrived(&s.moment) || aborted || s.moment.refused.is_some() || s.lost.is_some()).then_some(aborted)
        });
        let aborted = ended.await.unwrap_or(false);
        if aborted {
            // A page from the back-forward cache says that loading stopped before it says that it is there.
            self.tab.wait_for(RESTORE, |s| (arrived(&s.moment) || s.moment.refused.is_some() || s.lost.is_some()).then_some(())).await;
        }
        aborted
    }

    async fn told(&self, same_document: bool) -> Result<Arrived, BrowserError> {
        let limit = Duration::from_secs(2).min(self.deadline.saturating_duration_since(Instant::now()));
        let expression = "[document.title,performance.getEntriesByType('navigation')[0]?.responseStatus||0]";
        let asked = self.tab.send("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        let read = tokio::time::timeout(limit, asked).await.ok().and_then(Result::ok).unwrap_or_default();
        let status = read["result"]["value"][1].as_u64().and_then(|s| u16::try_from(s).ok()).filter(|s| *s > 0);
        let title = read["result"]["value"][0].as_str().unwrap_or_default().to_owned();
        Ok(Arrived { url: self.tab.url(), title, status, same_document, loading: self.tab.loading() })
    }

    /// One step back in the tab's history.
    ///
    /// # Errors
    /// `Failed` when there is no earlier page.
    pub async fn back(&self) -> Result<Went, BrowserError> {
        self.step(-1, "earlier").await
    }

    /// One step forward in the tab's history.
    ///
    /// # Errors
    /// `Failed` when there is no later page.
    pub async fn forward(&self) -> Result<Went, BrowserError> {
        self.step(1, "later").await
    }

    async fn step(&self, by: i64, word: &str) -> Result<Went, BrowserError> {
        self.tab.ensure_ready().await?;
        let history = self.send("Page.getNavigationHistory", json!({})).await?;
        let to = history["currentIndex"].as_i64().unwrap_or(0) + by;
        let entry = usize::try_from(to).ok().and_then(|i| history["entries"].get(i)).cloned();
        let none = || BrowserError::Failed(format!("there is no {word} page in this tab's history"));
        let entry = entry.ok_or_else(none)?;
        self.tab.policy().address(entry["url"].as_str().unwrap_or_default())?;
        let before = self.begin();
        self.send("Page.navigateToHistoryEntry", json!({"entryId": entry["id"]})).await?;
        let arrived = |m: &Moment| m.commits != before.commits || m.within != before.within;
        let came = self.come(&before).await;
        let now = self.tab.look(|s| s.moment.clone());
        if let Some(refused) = now.refused {
            return Err(refused.into());
        }
        if !arrived(&now) {
            let what = format!(
                "the {word} page {} did not come{}",
                entry["url"].as_str().unwrap_or_default(),
                if came { ": the navigation was aborted" } else { "" }
            );
            return Err(BrowserError::TimedOut { what, after: ANSWER });
        }
        let same_document = now.commits == before.commits;
        self.load(&before, same_document).await;
        Ok(Went { url: self.tab.url(), same_document, loading: self.tab.loading() })
    }

    /// Loads the page again, past the cache when told so.
    ///
    /// # Errors
    /// `TimedOut` when the server does not answer; `Refused` by policy.
    pub async fn reload(&self, bypass_cache: bool) -> Result<Went, BrowserError> {
        self.tab.revive();
        self.tab.ensure_ready().await?;
        let before = self.begin();
        self.send("Page.reload", json!({"ignoreCache": bypass_cache})).await?;
        self.come(&before).await;
        let now = self.tab.look(|s| s.moment.clone());
        if let Some(refused) = now.refused {
            return Err(refused.into());
        }
        if now.commits == before.commits {
            let _ = tokio::time::timeout(Duration::from_secs(1), self.tab.send("Page.stopLoading", json!({}))).await;
            return Err(BrowserError::TimedOut {
                what: format!("{} did not answer, so reloading was stopped", self.tab.url()),
                after: ANSWER,
            });
        }
        self.load(&before, false).await;
        if self.tab.url().starts_with("chrome-error:") {
            return Err(BrowserError::Load {
                url: self.tab.url(),
                reason: "the page could not be loaded again; the tab shows the browser's own error page".to_owned(),
            });
        }
        Ok(Went { url: self.tab.url(), same_document: false, loading: self.tab.loading() })
    }
}

impl crate::tab::Tab {
    /// A crashed page comes back by opening something else; until then nothing else is tried on it.
    pub(crate) fn revive(&self) {
        self.change(|s| {
            if s.lost == Some(Lost::Crashed) {
                s.lost = None;
            }
        });
    }
}

fn net_error(code: &str) -> String {
    let meaning = match code.trim_start_matches("net::") {
        "ERR_NAME_NOT_RESOLVED" => "no server of that name was found",
        "ERR_CONNECTION_REFUSED" => "the server refused the connection",
        "ERR_CONNECTION_TIMED_OUT" | "ERR_TIMED_OUT" => "the server did not answer",
        "ERR_INTERNET_DISCONNECTED" => "this computer is offline",
        "ERR_UNSAFE_PORT" => "browsers refuse to open this port",
        "ERR_UNSAFE_REDIRECT" => "the server redirects to an address that may not be opened",
        "ERR_TOO_MANY_REDIRECTS" => "the server redirects in a circle",
        "ERR_BLOCKED_BY_CLIENT" | "ERR_BLOCKED_BY_ADMINISTRATOR" => "the browser is set to block it",
        "ERR_CERT_AUTHORITY_INVALID" | "ERR_CERT_COMMON_NAME_INVALID" | "ERR_CERT_DATE_INVALID" => {
            "its certificate is not valid, so it is not shown to be the right server"
        }
        "ERR_SSL_PROTOCOL_ERROR" => "it does not speak https",
        "ERR_EMPTY_RESPONSE" => "the server closed the connection without an answer",
        _ => return code.to_owned(),
    };
    format!("{meaning} ({code})")
}
