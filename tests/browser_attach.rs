//! The guarded address of the managed browser: who may attach, and when it ends.

use crate::support::rig::Rig;
use crate::support::server::Server;
use crate::support::worker::{PATIENCE, Worker};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};

/// The status that an upgrade with these headers is refused with; 101 when it is not.
async fn status(url: &str, headers: &[(&'static str, String)]) -> u16 {
    let mut request = url.into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
    }
    match connect_async(request).await {
        Ok(_) => 101,
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_with_the_token_attaches_until_control_ends_and_nobody_else_does() {
    let server = Server::managed("1024x768x24");
    let worker = Worker::with(Some(server.name()), &["--authorize", "all", "--browser", "managed"]).await;
    worker.call("browser_navigate", json!({"url": "about:blank"})).await.success();
    let info = worker.call("browser_get_info", json!({})).await.success();
    let url = info.json["cdp_url"].as_str().unwrap().to_owned();
    let bearer = ("authorization", format!("Bearer {}", worker.token));
    assert_eq!(status(&url, &[]).await, 401);
    assert_eq!(status(&url, &[("authorization", "Bearer wrong".into())]).await, 401);
    assert_eq!(status(&url, &[bearer.clone(), ("origin", "https://evil.test".into())]).await, 403);
    assert_eq!(
        status(&format!("{}0", &url[..url.len() - 1]), std::slice::from_ref(&bearer)).await.min(404),
        if url.ends_with('0') { 101 } else { 404 }
    );
    let mut request = url.as_str().into_client_request().unwrap();
    request.headers_mut().insert("authorization", HeaderValue::from_str(&bearer.1).unwrap());
    let (mut socket, _) = connect_async(request).await.unwrap();
    socket.send(Message::text(json!({"id": 7, "method": "Browser.getVersion"}).to_string())).await.unwrap();
    let answer = tokio::time::timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap();
    let answer: Value = serde_json::from_str(answer.to_text().unwrap()).unwrap();
    assert!(answer["id"] == 7 && answer["result"]["product"].is_string(), "{answer}");
    let stopped =
        std::process::Command::new(env!("CARGO_BIN_EXE_deskhand")).args(["stop", "--state-dir"]).arg(&worker.state).status().unwrap();
    assert!(stopped.success());
    let ended = tokio::time::timeout(PATIENCE, async { while let Some(Ok(Message::Text(_))) = socket.next().await {} }).await;
    assert!(ended.is_ok(), "the socket outlives the authorisation");
    assert_eq!(status(&url, std::slice::from_ref(&bearer)).await, 403);
    assert!(worker.audit().iter().any(|l| l["tool"] == "cdp" && l["event"] == "start"));
}

/// A program that is attached.
struct Program {
    socket: tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>,
    next: u64,
}

impl Program {
    async fn attach(rig: &Rig) -> Self {
        let url = rig.done("get_info", json!({})).await["cdp_url"].as_str().unwrap().to_owned();
        let mut request = url.as_str().into_client_request().unwrap();
        let bearer = format!("Bearer {}", rig.worker.token);
        request.headers_mut().insert("authorization", HeaderValue::from_str(&bearer).unwrap());
        Self { socket: connect_async(request).await.unwrap().0, next: 0 }
    }

    /// The whole answer to a command.
    async fn ask(&mut self, session: Option<&str>, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.socket.send(Message::text(message.to_string())).await.unwrap();
        loop {
            let heard = tokio::time::timeout(PATIENCE, self.socket.next()).await;
            let heard = heard.unwrap_or_else(|_| panic!("no answer to {message}")).unwrap().unwrap();
            let heard: Value = serde_json::from_str(heard.to_text().unwrap()).unwrap();
            if heard["id"] == self.next {
                return heard;
            }
        }
    }

    /// The result of a command that must work.
    async fn done(&mut self, session: Option<&str>, method: &str, params: Value) -> Value {
        let answer = self.ask(session, method, params).await;
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// A new page in a context, and its session.
    async fn page(&mut self, context: Option<&str>) -> String {
        let mut wish = json!({"url": "about:blank"});
        if let Some(context) = context {
            wish["browserContextId"] = context.into();
        }
        let target = self.done(None, "Target.createTarget", wish).await["targetId"].clone();
        let attached = self.done(None, "Target.attachToTarget", json!({"targetId": target, "flatten": true})).await;
        attached["sessionId"].as_str().unwrap().to_owned()
    }

    /// What a script of a page comes to.
    async fn value(&mut self, session: &str, script: &str) -> Value {
        let params = json!({"expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        self.ask(Some(session), "Runtime.evaluate", params).await["result"]["result"]["value"].clone()
    }
}

const METADATA: &str = "http://169.254.169.254:81/latest/";

#[tokio::test(flavor = "multi_thread")]
async fn an_attached_program_gets_no_further_than_the_tools() {
    let rig = Rig::managed_with(&["--block-origin", "localhost"]).await;
    let secret = rig.worker.state.join("secret.txt");
    std::fs::write(&secret, "TOPSECRET").unwrap();
    let file = format!("file://{}", secret.display());
    rig.open("<input type=file id=i>").await;
    let mut program = Program::attach(&rig).await;
    let page = program.page(None).await;
    refused_in_a_page(&rig, &mut program, &page, &secret).await;
    refused_of_the_browser(&mut program, &file).await;
    // A session that is not its own, ours for example, does not exist for it.
    let answer = program.ask(Some("0123456789ABCDEF0123456789ABCDEF"), "Runtime.evaluate", json!({"expression": "1"})).await;
    assert!(answer["error"].is_object(), "{answer}");
    assert!(program.ask(Some(&page), "IO.read", json!({"handle": "1"})).await["error"].is_object());
    // What its pages do by themselves goes by the same rules, also after the program switched its own interception on.
    program.done(Some(&page), "Page.navigate", json!({"url": rig.web.page("/open", "<p>open</p>")})).await;
    program.done(Some(&page), "Fetch.enable", json!({"patterns": [{"urlPattern": "*never*"}]})).await;
    let fetched = |to: String| format!("fetch('{to}',{{mode:'no-cors'}}).then(()=>'came',()=>'failed')");
    assert_eq!(program.value(&page, &fetched(rig.web.other("/secret-fetch"))).await, "failed");
    assert_eq!(program.value(&page, &fetched(METADATA.to_owned())).await, "failed");
    program.value(&page, &format!("location='{file}'")).await;
    assert_ne!(program.value(&page, "document.body.innerText").await, "TOPSECRET");
    let heard: Vec<_> = rig.web.since(0, "request").into_iter().filter(|r| r["path"].as_str().unwrap().starts_with("/secret")).collect();
    assert!(heard.is_empty(), "{heard:?}");
    rig.works().await;
}

async fn refused_in_a_page(rig: &Rig, program: &mut Program, page: &str, secret: &std::path::Path) {
    let file = format!("file://{}", secret.display());
    for (method, params) in [
        ("Page.navigate", json!({"url": file})),
        ("Page.navigate", json!({"url": METADATA})),
        ("Page.navigate", json!({"url": rig.web.other("/secret")})),
        ("Page.navigate", json!({"url": "chrome://settings"})),
        ("Page.navigate", json!({"url": "javascript:1"})),
        ("Page.navigate", json!({"url": "data:text/html,x"})),
        ("Network.loadNetworkResource", json!({"url": file, "options": {"disableCache": true, "includeCredentials": false}})),
        ("Network.loadNetworkResource", json!({"url": rig.web.url("/"), "options": {"disableCache": true, "includeCredentials": false}})),
        ("DOM.setFileInputFiles", json!({"files": [secret], "nodeId": 1})),
        ("Page.handleFileChooser", json!({"action": "accept", "files": [secret]})),
        (
            "Input.dispatchDragEvent",
            json!({"type": "drop", "x": 1, "y": 1, "data": {"items": [], "files": [secret], "dragOperationsMask": 1}}),
        ),
        ("Security.setIgnoreCertificateErrors", json!({"ignore": true})),
        ("Target.sendMessageToTarget", json!({"message": "{}"})),
    ] {
        let answer = program.ask(Some(page), method, params.clone()).await;
        assert!(answer["error"]["message"].as_str().is_some_and(|m| m.contains("Deskhand refuses")), "{method} {params}: {answer}");
    }
}

async fn refused_of_the_browser(program: &mut Program, file: &str) {
    for (method, params) in [
        ("Target.createTarget", json!({"url": file})),
        ("Target.createTarget", json!({"url": METADATA})),
        ("Target.createTarget", json!({"url": "chrome://settings"})),
        ("Browser.close", json!({})),
        ("Browser.grantPermissions", json!({"permissions": ["videoCapture", "geolocation"]})),
        ("Browser.executeBrowserCommand", json!({"commandId": "openTabSearch"})),
        ("Target.openDevTools", json!({"targetId": "x"})),
        ("Target.exposeDevToolsProtocol", json!({"targetId": "x"})),
        ("Target.attachToBrowserTarget", json!({})),
        ("Target.setRemoteLocations", json!({"locations": []})),
        ("Tethering.bind", json!({"port": 9222})),
        ("SystemInfo.getProcessInfo", json!({})),
        ("Extensions.loadUnpacked", json!({"path": "/"})),
    ] {
        let answer = program.ask(None, method, params.clone()).await;
        assert!(answer["error"]["message"].as_str().is_some_and(|m| m.contains("Deskhand refuses")), "{method} {params}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn downloads_of_an_attached_program_land_where_the_worker_says() {
    let rig = Rig::managed().await;
    let attachment = [("Content-Type", "application/octet-stream"), ("Content-Disposition", "attachment; filename=own.bin")];
    rig.web.put("/own.bin", 200, &attachment, "own");
    rig.web.page("/start", "<a id=l href=/own.bin>l</a>");
    rig.open("home").await;
    let mut program = Program::attach(&rig).await;
    let elsewhere = rig.worker.allowed.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let context = program.done(None, "Target.createBrowserContext", json!({})).await["browserContextId"].clone();
    let wish = json!({"behavior": "allow", "downloadPath": elsewhere, "browserContextId": context});
    program.done(None, "Browser.setDownloadBehavior", wish).await;
    for context in [None, context.as_str()] {
        let page = program.page(context).await;
        program.done(Some(&page), "Page.setDownloadBehavior", json!({"behavior": "allow", "downloadPath": elsewhere})).await;
        let went = program.done(Some(&page), "Page.navigate", json!({"url": rig.web.url("/start")})).await;
        assert!(went["errorText"].is_null(), "{context:?}: {went}");
        let mark = rig.web.mark();
        let clicked = "new Promise(d=>{let n=0;const c=()=>{const l=document.querySelector('#l');if(l){l.click();d(1)}else if(n++>200)d(document.documentElement.outerHTML);else setTimeout(c,20)};c()})";
        assert_eq!(program.value(&page, clicked).await, 1);
        rig.web.hears(mark, "the download's request", |t| t["event"] == "request" && t["path"] == "/own.bin").await;
    }
    let downloads = rig.worker.state.join("downloads");
    let end = std::time::Instant::now() + PATIENCE;
    let landed =
        || std::fs::read_dir(&downloads).map_or(0, |d| d.flatten().filter(|f| std::fs::read(f.path()).is_ok_and(|b| b == b"own")).count());
    while landed() < 2 {
        assert!(std::time::Instant::now() < end, "{} of 2 are in {}", landed(), downloads.display());
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}
