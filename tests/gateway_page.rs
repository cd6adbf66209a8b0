//! The status page in a real browser: signing in, the token, administration.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::gateway_stand::{Gateway, PASSWORD, PATIENCE, Process, deskhand, eventually, http, run};

/// One page of a headless Chromium.
struct Page {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    next: u64,
    _browser: Process,
}

impl Page {
    async fn open(dir: &Path, url: &str) -> Self {
        let profile = dir.join("profile");
        let mut command = Command::new("chromium");
        command
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let browser = Process::spawn(&mut command);
        let file = profile.join("DevToolsActivePort");
        eventually("Chromium listens", PATIENCE, || std::fs::read_to_string(&file).is_ok_and(|text| text.lines().count() == 2));
        let text = std::fs::read_to_string(&file).unwrap();
        let port = text.lines().next().unwrap();
        let list = http(&format!("127.0.0.1:{port}"), "GET /json/list", "", "").unwrap();
        let target = list.as_array().unwrap().iter().find(|target| target["type"] == "page").expect("a page");
        let (socket, _) = connect_async(target["webSocketDebuggerUrl"].as_str().unwrap()).await.unwrap();
        let mut page = Self { socket, next: 1, _browser: browser };
        page.send("Page.enable", json!({})).await;
        page.send("Page.navigate", json!({"url": url})).await;
        page
    }

    async fn send(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.socket.send(Message::text(json!({"id": id, "method": method, "params": params}).to_string())).await.unwrap();
        loop {
            let message = tokio::time::timeout(PATIENCE, self.socket.next()).await.unwrap().unwrap().unwrap();
            let Message::Text(text) = message else { continue };
            let frame: Value = serde_json::from_str(text.as_str()).unwrap();
            if frame["method"] == "Page.javascriptDialogOpening" {
                // confirm() asks the person, who says yes.
                let yes = json!({"id": 1_000_000 + id, "method": "Page.handleJavaScriptDialog", "params": {"accept": true}});
                self.socket.send(Message::text(yes.to_string())).await.unwrap();
            }
            if frame["id"] == id {
                return frame["result"].clone();
            }
        }
    }

    async fn run(&mut self, script: &str) -> Value {
        self.send("Runtime.evaluate", json!({"expression": script, "returnByValue": true, "awaitPromise": true})).await["result"]["value"]
            .clone()
    }

    async fn until(&mut self, what: &str, script: &str) {
        let began = std::time::Instant::now();
        while self.run(script).await != true {
            assert!(began.elapsed() < PATIENCE, "never: {what}; the page says: {}", self.run("document.body?.innerText").await);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn sign_in(&mut self, user: &str, password: &str) {
        self.until("the form", "!!document.querySelector('#sign-in') && !document.querySelector('#sign-in').hidden").await;
        let fill = format!(
            "(() => {{ const form = document.querySelector('#sign-in'); form.username.value = {}; form.password.value = {}; form.querySelector('button').click(); return true }})()",
            json!(user),
            json!(password)
        );
        self.run(&fill).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_page_in_a_real_browser() {
    let dir = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(dir.path());
    run(deskhand().args(["gateway", "user", "add", "root", "--superadmin", "--state-dir"]).arg(&gateway.state), PASSWORD);
    let mut page = Page::open(dir.path(), &gateway.url).await;
    page.sign_in("ana", "wrong password").await;
    page.until("told", "document.querySelector('#error').textContent.includes('wrong user name or password')").await;
    page.sign_in("ana", PASSWORD).await;
    page.until("signed in", "document.querySelector('#name').textContent === 'ana' && !document.querySelector('#own').hidden").await;
    page.until("the tools are listed", "document.querySelectorAll('#tools dt').length >= 6").await;
    page.until("nobody is connected", "!document.querySelector('#nobody').hidden").await;
    page.run("document.querySelector('#show-token').click()").await;
    let shown = format!("document.querySelector('#token').textContent === {}", json!(gateway.token));
    page.until("the token", &shown).await;
    page.run("setTimeout(() => document.querySelector('#reset-token').click())").await;
    page.until("another token", &format!("document.querySelector('#token').textContent.startsWith('ana:') && !({shown})")).await;
    page.run("document.querySelector('#sign-out').click()").await;
    page.sign_in("root", PASSWORD).await;
    page.until("administration", "!document.querySelector('#administration').hidden && document.querySelector('#own').hidden").await;
    let add = "(() => { const form = document.querySelector('#user-add'); form.user.value = '<b>eve'; form.password.value = 'long enough'; form.requestSubmit() })()";
    page.run(add).await;
    page.until("a bad name is refused", "document.querySelector('#error').textContent.includes('not usable')").await;
    page.run(&add.replace("<b>eve", "eve")).await;
    page.until("eve is there", "[...document.querySelectorAll('#users td:first-child')].some(cell => cell.textContent === 'eve')").await;
    assert!(run(deskhand().args(["gateway", "user", "list", "--state-dir"]).arg(&gateway.state), "").contains("eve"));
    page.run("setTimeout(() => [...document.querySelectorAll('#users tr')].find(row => row.cells[0].textContent === 'eve').querySelector('button:last-of-type').click())").await;
    page.until("eve is gone", "![...document.querySelectorAll('#users td:first-child')].some(cell => cell.textContent === 'eve')").await;
}
