//! The pages that all browsers open, and what they count.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A server of pages like `…/7`: some text, a table, a button that counts, a field that tells its text.
pub struct Pages {
    port: u16,
    clicks: Arc<AtomicUsize>,
    text: Arc<Mutex<String>>,
}

impl Pages {
    /// Serves them on a port of their own.
    pub async fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let made = Self { port: listener.local_addr().unwrap().port(), clicks: Arc::default(), text: Arc::default() };
        let (clicks, text) = (Arc::clone(&made.clicks), Arc::clone(&made.text));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(answer(socket, Arc::clone(&clicks), Arc::clone(&text)));
            }
        });
        made
    }

    /// The address of the `n`th page.
    pub fn url(&self, n: usize) -> String {
        format!("http://127.0.0.1:{}/{n}", self.port)
    }

    /// What only the `n`th page says.
    pub fn mark(n: usize) -> String {
        format!("page number {n} of the bench")
    }

    /// Trusted clicks that the pages got.
    pub fn clicks(&self) -> usize {
        self.clicks.load(Ordering::SeqCst)
    }

    /// The text that the field was last told to hold.
    pub fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }

    /// Waits until the page's word of it is here.
    pub async fn arrived(&self, what: &str, there: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(10);
        while !there() {
            assert!(Instant::now() < end, "not all arrived: {what} ({} clicks, {:?})", self.clicks(), self.text());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

fn page(n: &str) -> String {
    let rows: String =
        (0..150).map(|r| format!("<tr><td>{r}</td><td><a href='/{r}'>row {r}</a></td><td>漢字 lorem ipsum dolor</td></tr>")).collect();
    format!(
        "<!doctype html><meta charset=utf-8><title>{n}</title><h1>page number {n} of the bench</h1>\
         <button id=go onclick=\"event.isTrusted&&navigator.sendBeacon('/clicked')\">Go</button>\
         <input id=field aria-label=Field oninput=\"navigator.sendBeacon('/typed',this.value)\"><table>{rows}</table>"
    )
}

async fn answer(mut socket: TcpStream, clicks: Arc<AtomicUsize>, text: Arc<Mutex<String>>) {
    let mut kept = Vec::new();
    loop {
        let head = loop {
            if let Some(at) = kept.windows(4).position(|w| w == b"\r\n\r\n") {
                break kept.drain(..at + 4).collect::<Vec<u8>>();
            }
            if socket.read_buf(&mut kept).await.unwrap_or(0) == 0 {
                return;
            }
        };
        let head = String::from_utf8_lossy(&head).into_owned();
        let length = head.lines().find_map(|l| l.to_ascii_lowercase().strip_prefix("content-length:").and_then(|v| v.trim().parse().ok()));
        let length: usize = length.unwrap_or(0);
        while kept.len() < length {
            if socket.read_buf(&mut kept).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let body: Vec<u8> = kept.drain(..length).collect();
        let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
        let page = match path.as_str() {
            "/clicked" => {
                clicks.fetch_add(1, Ordering::SeqCst);
                String::new()
            }
            "/typed" => {
                *text.lock().unwrap() = String::from_utf8_lossy(&body).into_owned();
                String::new()
            }
            _ => page(path.trim_start_matches('/')),
        };
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n{page}", page.len());
        if socket.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}
