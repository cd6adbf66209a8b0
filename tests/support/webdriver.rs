//! The tray app's windows, driven as WebDriver drives them: Debian's `WebKitWebDriver` starts the app, and its pages are
//! read, clicked and typed into. None of that is input on the display, so no takeover and no agent is in it.

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

use super::worker::PATIENCE;

/// The key under which WebDriver hands out elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A driver and the app that it started; both end when dropped.
pub struct Driver {
    child: Child,
    base: String,
    client: reqwest::Client,
    /// The window that commands go to now.
    current: Mutex<String>,
}

impl Driver {
    /// Starts a driver with this environment, which the app gets from it, and the app through it.
    pub async fn start(environment: impl Fn(&mut Command), log: &Path, binary: &Path) -> Self {
        use std::os::unix::process::CommandExt as _;
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let mut command = Command::new("WebKitWebDriver");
        command.arg(format!("--port={port}")).env("TAURI_AUTOMATION", "true").env("TAURI_WEBVIEW_AUTOMATION", "true");
        environment(&mut command);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        let child = command.spawn().expect("WebKitWebDriver is installed (webkit2gtk-driver)");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut driver = Self { child, base: format!("http://127.0.0.1:{port}"), client, current: Mutex::default() };
        let end = Instant::now() + PATIENCE;
        while driver.client.get(format!("{}/status", driver.base)).send().await.is_err() {
            assert!(Instant::now() < end, "the driver does not answer");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let options = json!({ "binary": binary, "args": [] });
        let wish = json!({ "capabilities": { "alwaysMatch": { "webkitgtk:browserOptions": options } } });
        let session = driver.post("/session", &wish).await.unwrap_or_else(|e| panic!("the app does not come up: {e}"));
        driver.base += &format!("/session/{}", session["sessionId"].as_str().unwrap());
        driver
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        let request = self.client.post(format!("{}{path}", self.base)).json(body);
        self.answer(request).await
    }

    async fn get(&self, path: &str) -> Result<Value, String> {
        let request = self.client.get(format!("{}{path}", self.base));
        self.answer(request).await
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Result<Value, String> {
        let sent = tokio::time::timeout(PATIENCE, request.send()).await.map_err(|_| "no answer".to_owned())?;
        let response = sent.map_err(|e| e.to_string())?;
        let good = response.status().is_success();
        let answer: Value = response.json().await.map_err(|e| e.to_string())?;
        if good { Ok(answer["value"].clone()) } else { Err(format!("{} {}", answer["value"]["error"], answer["value"]["message"])) }
    }

    /// The window that shows this page (`index`, `consent` or `pill`), waited for.
    pub async fn view(&self, page: &'static str) -> View<'_> {
        let file = format!("/{page}.html");
        let end = Instant::now() + PATIENCE;
        loop {
            let mut current = self.current.lock().await;
            let handles = self.get("/window/handles").await.unwrap_or_default();
            for handle in handles.as_array().into_iter().flatten() {
                if self.post("/window", &json!({ "handle": handle })).await.is_err() {
                    continue;
                }
                *current = handle.as_str().unwrap().to_owned();
                let at = self.post("/execute/sync", &json!({ "script": "return location.pathname", "args": [] })).await;
                let at = at.ok().and_then(|at| at.as_str().map(str::to_owned)).unwrap_or_default();
                if at == file || (page == "index" && at == "/") {
                    return View { driver: self, handle: current.clone(), page };
                }
            }
            drop(current);
            assert!(Instant::now() < end, "no window shows {file}; windows: {handles}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Whether the driver has ended the session, because the app has ended.
    pub async fn is_over(&self) -> bool {
        self.get("/window/handles").await.is_err()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The app and WebKit's processes are of its group.
        if let Ok(group) = i32::try_from(self.child.id()) {
            // SAFETY: ends a group that we started and still hold.
            #[allow(unsafe_code)]
            unsafe {
                libc::kill(-group, libc::SIGKILL);
            }
        }
        let _ = self.child.wait();
    }
}

/// A page in a window of the app.
#[derive(Clone)]
pub struct View<'a> {
    driver: &'a Driver,
    handle: String,
    page: &'static str,
}

impl<'d> View<'d> {
    async fn post(&self, path: &str, body: Value) -> Result<Value, String> {
        let mut current = self.driver.current.lock().await;
        if *current != self.handle {
            self.driver.post("/window", &json!({ "handle": self.handle })).await?;
            current.clone_from(&self.handle);
        }
        self.driver.post(path, &body).await
    }

    /// The value of a script: the body of a function.
    pub async fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": [] })).await.unwrap_or_else(|e| panic!("{script}: {e}"))
    }

    /// Waits until the script's value is true (or a text, or a number that is not 0); returns it.
    #[track_caller]
    pub fn until(&self, script: &str) -> impl Future<Output = Value> + use<'_, 'd> {
        let (script, place) = (script.to_owned(), std::panic::Location::caller());
        async move {
            let end = Instant::now() + PATIENCE;
            loop {
                let value = self.post("/execute/sync", json!({ "script": script, "args": [] })).await;
                match &value {
                    Ok(Value::Null | Value::Bool(false)) => {}
                    Ok(Value::String(text)) if text.is_empty() => {}
                    Ok(value) if *value != 0 => return value.clone(),
                    _ => {}
                }
                if Instant::now() > end {
                    let text = self.post("/execute/sync", json!({ "script": "return document.body.innerText", "args": [] })).await;
                    panic!("{place}: in {}, not in time: {script} ({value:?}); it shows: {text:?}", self.page);
                }
                tokio::time::sleep(Duration::from_millis(40)).await;
            }
        }
    }

    /// The text of what fits, when it is there and can be seen.
    #[track_caller]
    pub fn text(&self, selector: &str) -> impl Future<Output = String> + use<'_, 'd> {
        let asked = self.until(&format!("const e = document.querySelector({}); return e && e.innerText", quoted(selector)));
        async move { asked.await.as_str().unwrap_or_default().to_owned() }
    }

    /// Waits until the text of what fits has this in it.
    #[track_caller]
    pub fn says(&self, selector: &str, text: &str) -> impl Future<Output = Value> + use<'_, 'd> {
        self.until(&format!("return document.querySelector({})?.textContent.includes({})", quoted(selector), quoted(text)))
    }

    /// Waits until something fits.
    #[track_caller]
    pub fn has(&self, selector: &str) -> impl Future<Output = Value> + use<'_, 'd> {
        self.until(&format!("return document.querySelector({}) !== null", quoted(selector)))
    }

    /// Waits until nothing fits.
    #[track_caller]
    pub fn lacks(&self, selector: &str) -> impl Future<Output = Value> + use<'_, 'd> {
        self.until(&format!("return document.querySelector({}) === null", quoted(selector)))
    }

    async fn element(&self, selector: &str) -> Result<String, String> {
        let found = self.post("/element", json!({ "using": "css selector", "value": selector })).await?;
        Ok(found[ELEMENT].as_str().unwrap_or_default().to_owned())
    }

    async fn attempt(&self, selector: &str, action: &str, body: &Value) -> Result<(), String> {
        let element = self.element(selector).await?;
        self.post(&format!("/element/{element}/{action}"), body.clone()).await.map(|_| ())
    }

    /// Does something to an element; waits for it to be there, alive and uncovered.
    #[track_caller]
    fn act(&self, selector: &str, action: &'static str, body: Value) -> impl Future<Output = ()> + use<'_, 'd> {
        let (selector, place) = (selector.to_owned(), std::panic::Location::caller());
        async move {
            let ready = format!(
                "const e = document.querySelector({}); return e !== null && !e.disabled && !e.hasAttribute('aria-disabled') && !e.hasAttribute('aria-busy')",
                quoted(&selector)
            );
            self.until(&ready).await;
            let end = Instant::now() + PATIENCE;
            while let Err(error) = self.attempt(&selector, action, &body).await {
                assert!(Instant::now() < end, "{place}: {selector} in {}: {error}", self.page);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Clicks on it where it can be seen and nothing covers it. Not by the driver's own click: that one never returns when
    /// the click takes the window away, as an answer does.
    #[track_caller]
    pub fn click(&self, selector: &str) -> impl Future<Output = ()> + use<'_, 'd> {
        let clicked = self.until(&format!(
            "const e = document.querySelector({}); \
             if (e === null || e.disabled || e.hasAttribute('aria-disabled') || e.hasAttribute('aria-busy')) return false; \
             e.scrollIntoView({{ block: 'center' }}); \
             const r = e.getBoundingClientRect(), at = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2); \
             if (at === null || !e.contains(at)) return false; \
             setTimeout(() => e.click(), 0); return true",
            quoted(selector)
        ));
        async move {
            clicked.await;
        }
    }

    /// Types into it, after emptying it.
    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) -> impl Future<Output = ()> + use<'_, 'd> {
        let (clear, fill) = (self.act(selector, "clear", json!({})), self.act(selector, "value", json!({ "text": text })));
        async move {
            clear.await;
            fill.await;
        }
    }

    /// Chooses an option of a list by its value.
    #[track_caller]
    pub fn choose(&self, selector: &str, value: &str) -> impl Future<Output = ()> + use<'_, 'd> {
        let set = format!(
            "const e = document.querySelector({}); e.value = {}; e.dispatchEvent(new Event('change', {{bubbles: true}})); return true",
            quoted(selector),
            quoted(value)
        );
        let there = self.has(selector);
        async move {
            there.await;
            self.run(&set).await;
        }
    }

    /// The title of its window, in English.
    pub fn window_title(&self) -> &'static str {
        match self.page {
            "consent" => "Deskhand asks",
            "pill" => "AI is acting",
            _ => "Deskhand",
        }
    }

    /// Goes to a page of the main window by its entry in the navigation.
    #[track_caller]
    pub fn open(&self, name: &str) -> impl Future<Output = ()> + use<'_, 'd> {
        let (click, there) = (self.click(&format!("#nav-{name}")), self.has(&format!("#page-{name}")));
        async move {
            click.await;
            there.await;
        }
    }
}

/// A text as a script's literal.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
