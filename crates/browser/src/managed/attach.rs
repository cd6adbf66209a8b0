//! Attaching to a Chromium that somebody else started (`--cdp-url`), over chromiumoxide's connection.

use std::time::Duration;

use chromiumoxide::conn::Connection;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use url::Url;

use super::cdp::{self, Cdp, Told};
use crate::error::BrowserError;

/// How long the other side may take.
const ANSWER: Duration = Duration::from_secs(5);

/// Connects to `http://host:port` (asking it for its socket) or to a `ws://` address as it stands.
///
/// # Errors
/// [`BrowserError::Unavailable`] naming the address tried.
pub(super) async fn connect(address: &str) -> Result<(Cdp, mpsc::UnboundedReceiver<Told>), BrowserError> {
    let nobody = |why: &str| {
        BrowserError::Unavailable(format!(
            "no browser answers at {address}: {why}; start it with --remote-debugging-port and a profile folder of its own"
        ))
    };
    let url = Url::parse(address)
        .map_err(|_| BrowserError::Unavailable(format!("{address:?} is no address of a browser; write http://127.0.0.1:9222 or ws://…")))?;
    let socket = match url.scheme() {
        "ws" | "wss" => address.to_owned(),
        "http" => tokio::time::timeout(ANSWER, ask(&url)).await.map_err(|_| nobody("no answer in 5 s"))?.map_err(|e| nobody(&e))?,
        other => return Err(BrowserError::Unavailable(format!("a browser's address begins with http or ws, not {other}"))),
    };
    let connecting = Connection::connect(&socket);
    let ws = tokio::time::timeout(ANSWER, connecting).await.map_err(|_| nobody("no answer in 5 s"))?.map_err(|e| nobody(&e.to_string()))?;
    Ok(cdp::socket(ws))
}

/// The socket's address, as `/json/version` tells it.
async fn ask(url: &Url) -> Result<String, String> {
    let host = url.host_str().unwrap_or("127.0.0.1");
    let port = url.port_or_known_default().unwrap_or(80);
    let mut stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await.map_err(|e| e.to_string())?;
    let order = format!("GET /json/version HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(order.as_bytes()).await.map_err(|e| e.to_string())?;
    let mut answer = Vec::new();
    let mut stream = stream.take(64 * 1024);
    // Some browsers keep the connection open whatever they are asked; the end of the JSON is the end of the answer.
    while stream.read_buf(&mut answer).await.map_err(|e| e.to_string())? > 0 {
        let text = String::from_utf8_lossy(&answer);
        let body = text.find('{').map_or("", |at| &text[at..]);
        if let Ok(told) = serde_json::from_str::<Value>(body.trim_end()) {
            return told["webSocketDebuggerUrl"].as_str().map(str::to_owned).ok_or_else(|| "it names no webSocketDebuggerUrl".to_owned());
        }
    }
    Err("what answers there is no browser".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_where_nobody_answers_is_named() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        for address in [format!("http://127.0.0.1:{port}"), "ftp://x".to_owned(), "nonsense".to_owned()] {
            let error = connect(&address).await.err().unwrap().to_string();
            assert!(error.contains(&address) || error.contains("ftp"), "{error}");
        }
    }
}
