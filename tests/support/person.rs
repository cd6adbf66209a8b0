//! A person with a browser: a real Chromium with the real extension on a display, driven through its own debugging
//! port (which the product never sees) as a person would: the popup's page, its fields and buttons, tabs, windows.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::Message;

/// The pinned id of the extension.
pub const EXTENSION_ID: &str = "gdkdipmegppdlcihkchkdeikhpocmaip";

/// How long anything may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

type Waiting = Arc<std::sync::Mutex<HashMap<u64, oneshot::Sender<Value>>>>;

/// A running Chromium with the extension.
pub struct Person {
    child: Child,
    profile: PathBuf,
    environment: Vec<(String, String)>,
    extension: PathBuf,
    more: Vec<String>,
    out: mpsc::UnboundedSender<String>,
    waiting: Waiting,
    next: AtomicU64,
}

/// One page that the person looks at: a session of the person's own debugging port.
pub struct Page<'a> {
    person: &'a Person,
    /// Its target.
    pub target: String,
    session: String,
}

impl Person {
    /// Starts Chromium with a fresh or a used profile folder.
    pub async fn start(display: &str, profile: &Path, extension: &Path, more: &[&str]) -> Self {
        Self::start_in(vec![("DISPLAY".to_owned(), display.to_owned())], profile, extension, more).await
    }

    /// The same with these variables in its environment, which say where its display is.
    pub async fn start_in(environment: Vec<(String, String)>, profile: &Path, extension: &Path, more: &[&str]) -> Self {
        let more: Vec<String> = more.iter().map(|s| (*s).to_owned()).collect();
        let (child, url) = launch(&environment, profile, extension, &more).await;
        let (out, waiting) = connect(&url).await;
        Self {
            child,
            profile: profile.to_owned(),
            environment,
            extension: extension.to_owned(),
            more,
            out,
            waiting,
            next: AtomicU64::new(1),
        }
    }

    /// Ends the browser in an orderly way and starts it again with the same profile.
    pub async fn restart(&mut self) {
        let _ = self.out.send(json!({ "id": 0, "method": "Browser.close" }).to_string());
        let end = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            assert!(Instant::now() < end, "waited in vain for the browser to end");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let (child, url) = launch(&self.environment, &self.profile, &self.extension, &self.more).await;
        self.child = child;
        (self.out, self.waiting) = connect(&url).await;
    }

    /// One command on the browser's own connection.
    pub async fn command(&self, session: Option<&str>, method: &str, params: Value) -> Value {
        self.attempt(session, method, params).await.unwrap_or_else(|e| panic!("{method}: {e}"))
    }

    async fn attempt(&self, session: Option<&str>, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (tx, rx) = oneshot::channel();
        self.waiting.lock().unwrap().insert(id, tx);
        let mut frame = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            frame["sessionId"] = session.into();
        }
        self.out.send(frame.to_string()).map_err(|e| e.to_string())?;
        let answer = tokio::time::timeout(PATIENCE, rx).await.map_err(|_| "no answer")?.map_err(|_| "connection ended")?;
        if answer["error"].is_object() { Err(answer["error"].to_string()) } else { Ok(answer["result"].clone()) }
    }

    /// All targets of the browser.
    pub async fn targets(&self) -> Vec<Value> {
        let filter = json!({ "filter": [{}] });
        self.command(None, "Target.getTargets", filter).await["targetInfos"].as_array().cloned().unwrap_or_default()
    }

    /// Attaches to a target that fits.
    pub async fn find(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Page<'_> {
        let target = until(what, || async {
            let found = self.targets().await.into_iter().find(|t| fits(t));
            found.map(|t| t["targetId"].as_str().unwrap_or_default().to_owned())
        })
        .await;
        self.attach(target).await
    }

    async fn attach(&self, target: String) -> Page<'_> {
        let answer = self.command(None, "Target.attachToTarget", json!({ "targetId": target, "flatten": true })).await;
        Page { person: self, target, session: answer["sessionId"].as_str().unwrap().to_owned() }
    }

    /// Opens a tab, as by typing an address. It is in front.
    pub async fn open(&self, url: &str) -> String {
        let answer = self.command(None, "Target.createTarget", json!({ "url": url })).await;
        answer["targetId"].as_str().unwrap().to_owned()
    }

    /// Brings a tab to the front, as by clicking on it.
    pub async fn front(&self, target: &str) {
        self.command(None, "Target.activateTarget", json!({ "targetId": target })).await;
    }

    /// Closes a tab, as by its cross.
    pub async fn close(&self, target: &str) {
        self.command(None, "Target.closeTarget", json!({ "targetId": target })).await;
    }

    /// Opens the popup's page as a tab. It wakes the service worker, as every use of the popup does.
    pub async fn popup(&self) -> Page<'_> {
        let url = format!("chrome-extension://{EXTENSION_ID}/popup/popup.html");
        let page = until("the popup's page", || async {
            let page = self.attach(self.open(&url).await).await;
            // Before the extension is loaded, Chromium shows an error page.
            for _ in 0..40 {
                if page.attempt("document.readyState === 'complete' && location.href").await == Ok(Value::from(url.as_str())) {
                    return Some(page);
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            page.close().await;
            None
        })
        .await;
        page.until("document.body.dataset.link !== undefined").await;
        page
    }

    /// Opens the popup itself, by the toolbar button's own call.
    pub async fn real_popup(&self) -> Page<'_> {
        let worker = self.worker().await;
        worker.eval("chrome.action.openPopup()").await;
        worker.detach().await;
        self.find("the popup", |t| t["url"].as_str().is_some_and(|u| u.ends_with("/popup/popup.html"))).await
    }

    /// The extension's service worker, woken if it sleeps.
    pub async fn worker(&self) -> Page<'_> {
        let url = format!("chrome-extension://{EXTENSION_ID}/background.js");
        self.find("the extension's service worker", |t| t["type"] == "service_worker" && t["url"] == url.as_str()).await
    }

    /// Pairs the browser by typing a code into the popup.
    pub async fn pair(&self, address: &str, code: &str, name: &str) {
        let popup = self.popup().await;
        popup.until("!document.querySelector('#pairing').hidden").await;
        for (field, value) in [("address", address), ("code", code), ("pair-name", name)] {
            popup.fill(field, value).await;
        }
        popup.press("#pairing .primary").await;
        popup.until("document.body.dataset.link === 'connected' || !document.querySelector('#error').hidden").await;
        let link = popup.eval("document.body.dataset.link + ' ' + document.querySelector('#error').textContent").await;
        assert_eq!(link.as_str().map(str::trim), Some("connected"));
        popup.close().await;
    }

    /// Lends the tab in front by the popup's button.
    pub async fn lend(&self, target: &str) {
        self.front(target).await;
        let popup = self.popup().await;
        popup.until("!document.querySelector('#here').hidden && !document.querySelector('#lend').hidden").await;
        popup.press("#lend").await;
        popup.until("!document.querySelector('#return').hidden").await;
        popup.close().await;
        self.front(target).await;
    }

    /// Where its debugging port answers, as `--cdp-url` takes it.
    pub fn address(&self) -> String {
        let text = std::fs::read_to_string(self.profile.join("DevToolsActivePort")).unwrap();
        format!("http://127.0.0.1:{}", text.lines().next().unwrap())
    }

    /// Lends the tab in front by the button of the popup itself, which leaves that tab in front.
    pub async fn lend_in_front(&self, target: &str) {
        self.front(target).await;
        let popup = self.real_popup().await;
        popup.until("!document.querySelector('#here').hidden && !document.querySelector('#lend').hidden").await;
        popup.press("#lend").await;
        popup.until("!document.querySelector('#return').hidden").await;
        popup.close().await;
    }

    /// The process of the browser.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        // The whole group: Chromium is a family of processes.
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}

impl Page<'_> {
    /// A value of the page; promises are awaited.
    pub async fn eval(&self, script: &str) -> Value {
        self.attempt(script).await.unwrap_or_else(|e| panic!("{script}: {e}"))
    }

    async fn attempt(&self, script: &str) -> Result<Value, String> {
        let params = json!({ "expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true });
        let answer = self.person.attempt(Some(&self.session), "Runtime.evaluate", params).await?;
        if answer["exceptionDetails"].is_object() {
            return Err(answer["exceptionDetails"].to_string());
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Waits for a condition of the page.
    pub async fn until(&self, condition: &str) {
        let script = format!("Boolean({condition})");
        until(condition, || async { (self.attempt(&script).await == Ok(Value::Bool(true))).then_some(()) }).await;
    }

    /// Types into a field of the popup.
    pub async fn fill(&self, id: &str, value: &str) {
        self.eval(&format!("document.getElementById('{id}').focus(), document.getElementById('{id}').select()")).await;
        self.command("Input.insertText", json!({ "text": value })).await;
    }

    /// Presses a button by a real click in its middle.
    pub async fn press(&self, selector: &str) {
        let script = format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView(); const r = e.getBoundingClientRect(); \
             return [r.x + r.width / 2, r.y + r.height / 2]; }})()",
            Value::from(selector)
        );
        let at = self.eval(&script).await;
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({ "type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1 });
            self.command("Input.dispatchMouseEvent", params).await;
        }
    }

    /// A raw command to this page.
    pub async fn command(&self, method: &str, params: Value) -> Value {
        self.person.command(Some(&self.session), method, params).await
    }

    /// Closes the tab.
    pub async fn close(self) {
        self.person.close(&self.target).await;
    }

    /// Leaves the target alone again.
    pub async fn detach(self) {
        self.person.command(None, "Target.detachFromTarget", json!({ "sessionId": self.session })).await;
    }
}

async fn launch(environment: &[(String, String)], profile: &Path, extension: &Path, more: &[String]) -> (Child, String) {
    use std::os::unix::process::CommandExt;
    let port_file = profile.join("DevToolsActivePort");
    let _ = std::fs::remove_file(&port_file);
    std::fs::create_dir_all(profile).unwrap();
    let log = std::fs::File::create(profile.join("chromium.log")).unwrap();
    let child = Command::new(std::env::var("DESKHAND_TEST_CHROMIUM").unwrap_or_else(|_| "chromium".to_owned()))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--load-extension={}", extension.display()))
        .args([
            "--disable-features=DisableLoadExtensionCommandLineSwitch",
            "--remote-debugging-port=0",
            "--no-first-run",
            "--no-default-browser-check",
            "--password-store=basic",
            "--no-sandbox",
            "--window-size=1100,760",
            "--window-position=20,20",
        ])
        .args(more)
        .arg("about:blank")
        .envs(environment.iter().cloned())
        .env_remove("WAYLAND_DISPLAY")
        .stdout(Stdio::null())
        .stderr(log)
        .process_group(0)
        .spawn()
        .expect("chromium starts");
    let url = until("Chromium's debugging port", || async {
        let text = std::fs::read_to_string(&port_file).ok()?;
        let (port, path) = text.split_once('\n')?;
        Some(format!("ws://127.0.0.1:{port}{}", path.trim()))
    })
    .await;
    (child, url)
}

async fn connect(url: &str) -> (mpsc::UnboundedSender<String>, Waiting) {
    let (socket, _) = tokio_tungstenite::connect_async(url).await.expect("Chromium's debugging port answers");
    let (mut sink, mut stream) = socket.split();
    let (out, mut outbox) = mpsc::unbounded_channel::<String>();
    let waiting = Waiting::default();
    let answers = Arc::clone(&waiting);
    tokio::spawn(async move {
        while let Some(text) = outbox.recv().await {
            if sink.send(Message::Text(text.into())).await.is_err() {
                break;
            }
        }
    });
    tokio::spawn(async move {
        while let Some(Ok(message)) = stream.next().await {
            let Ok(text) = message.into_text() else { continue };
            let Ok(frame) = serde_json::from_str::<Value>(&text) else { continue };
            let Some(id) = frame["id"].as_u64() else { continue };
            if let Some(tx) = answers.lock().unwrap().remove(&id) {
                let _ = tx.send(frame);
            }
        }
        answers.lock().unwrap().clear();
    });
    (out, waiting)
}

/// Asks again until there is an answer; panics with `what` when patience is at its end.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, ask: impl Fn() -> F) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
