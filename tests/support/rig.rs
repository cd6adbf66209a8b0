//! A worker, a browser and pages, on either transport: the managed Chromium, or a person's Chromium through the
//! extension. A test of the browser has one body and runs on both.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::lender::{address, extension, pairing_code};
use super::person::Person;
use super::server::Server;
use super::web::Web;
use super::worker::{Answer, Worker};

pub struct Rig {
    pub worker: Worker,
    pub web: Web,
    /// The person's browser, when it is the one that is worked in.
    pub person: Option<Person>,
    pub server: Server,
    _profile: TempDir,
}

impl Rig {
    /// The managed Chromium.
    pub async fn managed() -> Self {
        Self::managed_with(&[]).await
    }

    /// The same with more arguments of `deskhand serve`.
    pub async fn managed_with(more: &[&str]) -> Self {
        let server = Server::managed("1280x900x24");
        let mut arguments = vec!["--authorize", "all", "--browser", "managed"];
        arguments.extend(more);
        let worker = Worker::with(Some(server.name()), &arguments).await;
        Self { worker, web: Web::start().await, person: None, server, _profile: tempfile::tempdir().unwrap() }
    }

    /// A person's Chromium, with one lent tab.
    pub async fn lent() -> Self {
        Self::lent_with(&[]).await
    }

    /// The same with more arguments of `deskhand serve`.
    pub async fn lent_with(more: &[&str]) -> Self {
        let server = Server::managed("1280x900x24");
        let mut arguments = vec!["--authorize", "all", "--browser", "extension"];
        arguments.extend(more);
        let worker = Worker::with(Some(server.name()), &arguments).await;
        let web = Web::start().await;
        let profile = tempfile::tempdir().unwrap();
        let person = Person::start(server.name(), &profile.path().join("profile"), &extension(), &[]).await;
        person.pair(&address(&worker), &pairing_code(&worker).await, "Chrome (Work)").await;
        let target = person.open(&web.page("/lent", "<title>lent</title>lent")).await;
        person.lend(&target).await;
        Self { worker, web, person: Some(person), server, _profile: profile }
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.worker.call(&format!("browser_{tool}"), arguments).await
    }

    /// A call that must succeed.
    #[track_caller]
    pub fn done(&self, tool: &str, arguments: Value) -> impl Future<Output = Value> + '_ {
        let (tool, place) = (tool.to_owned(), std::panic::Location::caller());
        async move {
            let answer = self.call(&tool, arguments.clone()).await;
            assert!(answer.ok, "{tool} {arguments} at {place}: {}", answer.text);
            answer.json
        }
    }

    /// A call that must fail, with its text.
    #[track_caller]
    pub fn fails(&self, tool: &str, arguments: Value) -> impl Future<Output = String> + '_ {
        let (tool, place) = (tool.to_owned(), std::panic::Location::caller());
        async move {
            let answer = self.call(&tool, arguments.clone()).await;
            assert!(!answer.ok, "{tool} {arguments} at {place} said ok: {}", answer.text);
            answer.text
        }
    }

    /// What results have told of downloads is awaited until all of them ended: a result that names one as begun is followed
    /// by one that names its end.
    pub async fn downloaded(&self, told: &Value) -> Vec<Value> {
        let mut all: Vec<Value> = told["downloads"].as_array().cloned().unwrap_or_default();
        let end = std::time::Instant::now() + super::worker::PATIENCE;
        while all.is_empty() || all.iter().any(|d| d["state"] == "inProgress") {
            assert!(std::time::Instant::now() < end, "no end of the downloads: {all:?}");
            let news = self.done("get_attribute", json!({"selector": "html", "name": "lang"})).await;
            for news in news["downloads"].as_array().into_iter().flatten() {
                match all.iter_mut().find(|d| d["file"] == news["file"] && d["url"] == news["url"] && d["state"] == "inProgress") {
                    Some(known) => *known = news.clone(),
                    None => all.push(news.clone()),
                }
            }
        }
        all
    }

    /// Opens a page with this body.
    #[track_caller]
    pub fn open(&self, body: &str) -> impl Future<Output = Value> + '_ {
        self.done("navigate", json!({"url": self.web.page("/page", body)}))
    }

    pub async fn click(&self, selector: &str) -> Answer {
        self.call("click", json!({"selector": selector})).await
    }

    pub async fn type_text(&self, selector: &str, text: &str) -> Answer {
        self.call("type", json!({"selector": selector, "text": text})).await
    }

    /// The value of a script in the page.
    #[track_caller]
    pub fn script(&self, script: &str) -> impl Future<Output = Value> + '_ {
        let run = self.done("execute", json!({"script": script}));
        async move { run.await["result"].clone() }
    }

    /// The page got neither press nor click since: it is asked for a word, which comes after whatever it told before.
    #[track_caller]
    pub fn untouched(&self, mark: usize) -> impl Future<Output = ()> + '_ {
        let word = self.script("tell({event:'word',word:String(Math.random())}),1");
        async move {
            let from = self.web.mark();
            word.await;
            self.web.hears(from, "the page's word", |t| t["event"] == "word").await;
            self.web.untouched(mark);
        }
    }

    /// The current tab's row.
    pub async fn current(&self) -> Value {
        self.done("current_tab", json!({})).await["tab"].clone()
    }

    /// The page can be worked in as ever.
    pub async fn works(&self) {
        self.done("navigate", json!({"url": self.web.page("/after", "<button id=after>after</button>")})).await;
        let mark = self.web.mark();
        assert!(self.click("#after").await.ok);
        self.web.clicked(mark, "after").await;
    }
}

/// Runs each named test body on both transports.
#[macro_export]
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod managed { $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name($crate::support::rig::Rig::managed().await).await })* }
        mod extension { $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name($crate::support::rig::Rig::lent().await).await })* }
    };
}
