//! Pages for the browser's tests, and their witness: every page tells what really happened in it. The same port is
//! reached as `127.0.0.1` and as `localhost`, which are two sites, so that frames of the one in the other live in another
//! process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::worker::PATIENCE;

/// Tells trusted events, before any handler of the page, and whatever else a page `tell`s.
const WITNESS: &str = "<!doctype html><meta charset=utf-8><script>\
    const tell=o=>{o.path=location.pathname;navigator.sendBeacon('/tell',JSON.stringify(o))};\
    for(const k of ['click','mousedown','keydown','input','change'])addEventListener(k,e=>{const n=e.composedPath()[0];\
    tell({event:k,id:n.id||'',trusted:e.isTrusted,key:e.key,value:n.value===undefined?n.innerText:String(n.value).slice(0,200)})},true);\
    addEventListener('pageshow',e=>tell({event:'shown',persisted:e.persisted}));\
    </script>";

/// What a path answers.
#[derive(Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Never answers.
    pub hangs: bool,
}

type Pages = Arc<Mutex<HashMap<String, Response>>>;
/// What pages and requests told, in order.
type Told = Arc<Mutex<Vec<Value>>>;

/// A server with pages that the test puts there.
pub struct Web {
    pub port: u16,
    pages: Pages,
    told: Told,
    serving: tokio::task::JoinHandle<()>,
}

impl Web {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (pages, told) = (Pages::default(), Told::default());
        let (at, heard) = (Arc::clone(&pages), Arc::clone(&told));
        let serving = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&at), Arc::clone(&heard)));
            }
        });
        Self { port, pages, told, serving }
    }

    /// Puts a page with the witness at a path; answers its address.
    pub fn page(&self, path: &str, body: &str) -> String {
        self.put(path, 200, &[("Content-Type", "text/html")], format!("{WITNESS}{body}"))
    }

    /// Puts anything at a path; answers its address.
    pub fn put(&self, path: &str, status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> String {
        let headers = headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        self.pages.lock().unwrap().insert(path.to_owned(), Response { status, headers, body: body.into(), hangs: false });
        self.url(path)
    }

    /// A path that takes requests and never answers.
    pub fn hang(&self, path: &str) -> String {
        self.pages.lock().unwrap().insert(path.to_owned(), Response { status: 200, headers: vec![], body: vec![], hangs: true });
        self.url(path)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The same on the other site.
    pub fn other(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port)
    }

    /// How much was told so far.
    pub fn mark(&self) -> usize {
        self.told.lock().unwrap().len()
    }

    /// What was told since, of this event.
    pub fn since(&self, mark: usize, event: &str) -> Vec<Value> {
        self.told.lock().unwrap()[mark..].iter().filter(|t| t["event"] == event).cloned().collect()
    }

    /// Waits until this was told since.
    pub async fn hears(&self, mark: usize, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = self.told.lock().unwrap()[mark..].iter().find(|t| fits(t)) {
                return found.clone();
            }
            assert!(Instant::now() < end, "never told: {what}; told was {:?}", &self.told.lock().unwrap()[mark..]);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits for the trusted click at an element, and checks that no other was clicked.
    pub async fn clicked(&self, mark: usize, id: &str) {
        self.hears(mark, &format!("a trusted click at #{id}"), |t| t["event"] == "click" && t["id"] == id && t["trusted"] == true).await;
        let clicks = self.since(mark, "click");
        assert!(clicks.iter().all(|c| c["id"] == id) && clicks.len() == 1, "{clicks:?}");
    }

    /// The page got neither press nor click. What a page tells arrives in order, so a word of its own is waited for.
    pub fn untouched(&self, mark: usize) {
        assert!(
            self.since(mark, "click").is_empty() && self.since(mark, "mousedown").is_empty(),
            "{:?}",
            &self.told.lock().unwrap()[mark..]
        );
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// One request as it arrived.
struct Asked {
    path: String,
    cookie: String,
    body: Vec<u8>,
}

/// The next request on the connection; none when the browser has closed it.
async fn asked(socket: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    if socket.read_line(&mut line).await.unwrap_or(0) == 0 {
        return None;
    }
    let path = line.split(' ').nth(1).unwrap_or("/").split('?').next().unwrap_or("/").to_owned();
    let (mut length, mut cookie) = (0, String::new());
    loop {
        let mut header = String::new();
        if socket.read_line(&mut header).await.unwrap_or(0) == 0 || header.trim().is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "cookie" => value.trim().clone_into(&mut cookie),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    Some(Asked { path, cookie, body })
}

async fn serve(socket: TcpStream, pages: Pages, told: Told) {
    let mut socket = BufReader::new(socket);
    while let Some(Asked { path, cookie, body }) = asked(&mut socket).await {
        if path == "/tell" {
            if let Ok(said) = serde_json::from_slice(&body) {
                told.lock().unwrap().push(said);
            }
            if socket.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.is_err() {
                return;
            }
            continue;
        }
        told.lock()
            .unwrap()
            .push(serde_json::json!({"event": "request", "path": path, "cookie": cookie, "body": String::from_utf8_lossy(&body)}));
        let page = pages.lock().unwrap().get(&path).cloned();
        let page = page.unwrap_or(Response { status: 404, headers: vec![], body: b"not here".to_vec(), hangs: false });
        if page.hangs {
            std::future::pending::<()>().await;
        }
        let mut head = format!("HTTP/1.1 {} X\r\nCache-Control: no-cache\r\n", page.status);
        for (name, value) in &page.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if page.status != 204 {
            head.push_str(&format!("Content-Length: {}\r\n", page.body.len()));
        }
        head.push_str("\r\n");
        if socket.write_all(head.as_bytes()).await.is_err() || socket.write_all(&page.body).await.is_err() {
            return;
        }
    }
}
