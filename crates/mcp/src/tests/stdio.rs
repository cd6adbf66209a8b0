//! The bridge: standard input and output on one side, a worker that comes and goes on the other.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split};
use tokio::task::JoinHandle;

use super::support::*;
use crate::{Locate, McpError, Target, bridge};

#[derive(Default)]
struct Where(Mutex<Option<String>>);

#[async_trait]
impl Locate for Where {
    async fn locate(&self) -> Result<Target, String> {
        let url = self.0.lock().clone().ok_or("no worker runs; start one with `deskhand serve`")?;
        Ok(Target { url, token: TOKEN.into() })
    }
}

struct Client {
    write: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    end: JoinHandle<Result<(), McpError>>,
}

impl Client {
    fn start(place: &Arc<Where>) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (input, output) = split(theirs);
        let end = tokio::spawn(bridge(Arc::clone(place) as Arc<dyn Locate>, input, output));
        let (read, write) = split(ours);
        Self { write, lines: BufReader::new(read).lines(), end }
    }

    async fn say(&mut self, text: impl AsRef<[u8]>) {
        self.write.write_all(text.as_ref()).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(30), self.lines.next_line()).await.expect("nothing came").unwrap();
        serde_json::from_str(&line.expect("output ended")).unwrap()
    }

    async fn open(&mut self, version: &str) {
        self.say(message(
            "i",
            "initialize",
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "s", "version": "1"}}),
        ))
        .await;
        assert_eq!(self.hear().await["result"]["protocolVersion"], version);
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    async fn finish(self) {
        let mut client = self;
        client.write.shutdown().await.unwrap();
        tokio::time::timeout(Duration::from_secs(20), client.end).await.expect("it does not end").unwrap().unwrap();
    }
}

fn at(desk: &Desk) -> Arc<Where> {
    Arc::new(Where(Mutex::new(Some(format!("http://{}/mcp", desk.host())))))
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_answered_in_any_split() {
    let desk = Desk::start().await;
    let mut client = Client::start(&at(&desk));
    client.say("\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"notifications/early\"}").await;
    client.say("not json").await;
    assert_eq!(client.hear().await["error"]["code"], -32700);
    client.open("2025-11-25").await;
    let bytes = (call(1, "echo", json!({"text": "漢😀"})) + "\r\n").into_bytes();
    for byte in &bytes {
        client.write.write_all(std::slice::from_ref(byte)).await.unwrap();
        client.write.flush().await.unwrap();
    }
    assert_eq!(client.hear().await["result"]["content"][0]["text"], "漢😀");
    let two = format!("{}\n{}", call(2, "echo", json!({"text": "a"})), call(3, "echo", json!({"text": "b"})));
    client.say(two).await;
    let mut ids = [client.hear().await["id"].clone(), client.hear().await["id"].clone()];
    ids.sort_by_key(|id| id.as_i64());
    assert_eq!(ids, [json!(2), json!(3)]);
    for (body, code) in [
        (call(4, "nope", json!({})), -32602),
        (message(4, "tools/call", json!({})), -32602),
        (message(4, "no/such", json!({})), -32601),
        (call(4, "panic", json!({})), -32603),
        ("[]".into(), -32600),
        (format!("[{}]", message(5, "ping", json!({}))), -32600),
    ] {
        client.say(&body).await;
        assert_eq!(client.hear().await["error"]["code"], code, "{body}");
    }
    client.finish().await;
    until("the session and the line ended with it", || desk.fake.closed.load(Ordering::SeqCst) == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_over_the_limit_is_refused_and_the_next_is_served() {
    let desk = Desk::start().await;
    let mut client = Client::start(&at(&desk));
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..9 {
        client.write.write_all(&chunk).await.unwrap();
    }
    client.say("").await;
    assert_eq!(client.hear().await["error"]["code"], -32600);
    client.say(message(1, "ping", json!({}))).await;
    assert_eq!(client.hear().await["result"], json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn large_answers_come_whole() {
    let desk = Desk::start().await;
    let mut client = Client::start(&at(&desk));
    client.open("2025-06-18").await;
    for size in [15, 16, 17, 64, 65, 300].map(|kb| kb * 1024) {
        client.say(call(size, "echo", json!({"text": "y".repeat(size)}))).await;
        assert_eq!(client.hear().await["result"]["content"][0]["text"].as_str().unwrap().len(), size);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_cancelled_and_pings_answered_meanwhile() {
    let desk = Desk::start().await;
    let mut client = Client::start(&at(&desk));
    client.open("2025-06-18").await;
    client.say(call(1, "wait", json!({}))).await;
    until("started", || desk.fake.started.load(Ordering::SeqCst) == 1).await;
    client.say(call(1, "echo", json!({}))).await;
    assert_eq!(client.hear().await["error"]["code"], -32600, "the id is in use");
    client.say(message(2, "ping", json!({}))).await;
    assert_eq!(client.hear().await["id"], 2);
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    until("cancelled", || desk.fake.cancelled.load(Ordering::SeqCst) == 1).await;
    for n in 10..30 {
        client.say(call(n, "echo", json!({"text": "x"}))).await;
        assert_eq!(client.hear().await["id"], n, "no late answer in between");
    }
    desk.fake.changes.send_modify(|n| *n += 1);
    assert_eq!(client.hear().await["method"], "notifications/tools/list_changed");
    client.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_revision_comes_through() {
    let desk = Desk::start().await;
    let mut client = Client::start(&at(&desk));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "s", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    client.say(message(1, "server/discover", json!({"_meta": meta}))).await;
    assert!(client.hear().await["result"]["supportedVersions"].is_array());
    client.say(message(2, "tools/call", json!({"name": "echo", "arguments": {"text": "n"}, "_meta": meta}))).await;
    assert_eq!(client.hear().await["result"]["content"][0]["text"], "n");
    client.say(message(3, "tools/call", json!({"name": "wait", "arguments": {}, "_meta": meta}))).await;
    until("started", || desk.fake.started.load(Ordering::SeqCst) == 2).await;
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#).await;
    until("cancelled", || desk.fake.cancelled.load(Ordering::SeqCst) == 1).await;
    client.say(message(4, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}, "_meta": meta}))).await;
    client.hear().await;
    desk.fake.changes.send_modify(|n| *n += 1);
    assert_eq!(client.hear().await["method"], "notifications/tools/list_changed");
    client.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_outlives_the_worker() {
    let folder = tempfile::tempdir().unwrap();
    let first = Desk::stored(folder.path()).await;
    let place = at(&first);
    let mut client = Client::start(&place);
    client.open("2025-06-18").await;
    client.say(call(1, "wait", json!({}))).await;
    until("started", || first.fake.started.load(Ordering::SeqCst) == 1).await;
    *place.0.lock() = None;
    drop(first);
    let broken = client.hear().await;
    assert_eq!(broken["id"], 1);
    assert!(broken["error"]["message"].as_str().unwrap().contains("not known"), "{broken}");
    client.say(call(2, "echo", json!({"text": "later"}))).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    for store in [Some(folder.path()), None] {
        let next = match store {
            Some(folder) => Desk::stored(folder).await,
            None => Desk::start().await,
        };
        *place.0.lock() = Some(format!("http://{}/mcp", next.host()));
        let heard = client.hear().await;
        assert_eq!(heard["result"]["content"][0]["text"], "later", "{heard}");
        *place.0.lock() = None;
        next.end().await;
        client.say(call(2, "echo", json!({"text": "later"}))).await;
    }
    client.end.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_under_way_are_written_after_input_ended() {
    let desk = Desk::start().await;
    let mut client = Client::start(&at(&desk));
    client.say(call(1, "wait", json!({"ms": 500}))).await;
    client.write.shutdown().await.unwrap();
    assert_eq!(client.hear().await["result"]["content"][0]["text"], "waited");
    tokio::time::timeout(Duration::from_secs(20), client.end).await.expect("it does not end").unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_lines_without_sessions_are_two_conversations() {
    let desk = Desk::start().await;
    let mut seen = Vec::new();
    for _ in 0..2 {
        let mut client = Client::start(&at(&desk));
        for id in 0..2 {
            client.say(call(id, "line", json!({}))).await;
            seen.push(client.hear().await["result"]["content"][0]["text"].as_str().unwrap().to_owned());
        }
        client.finish().await;
    }
    assert_eq!((seen[0].len(), seen[0] == seen[1], seen[2] == seen[3], seen[0] == seen[2]), (32, true, true, false), "{seen:?}");
    until("both let go", || desk.fake.closed.load(Ordering::SeqCst) == 2).await;
}
