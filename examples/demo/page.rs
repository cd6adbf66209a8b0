//! Act two: a form on a local page, filled in Chinese, sent, and the answer read: in the managed Chromium, then in a
//! person's own through the extension (`lent`). The task is the same, to the last argument.

use crate::Stage;
use crate::client::Client;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const FORM: &str = "<!doctype html><meta charset=utf-8><title>留言</title><h1>留言板</h1><form action=/sent><label>姓名 <input name=name id=name></label> \
<label>留言 <textarea name=words id=words></textarea></label> <button>发送</button></form>";

/// A server of two pages: the form, and what was sent.
async fn serve(listener: TcpListener) {
    while let Ok((mut socket, _)) = listener.accept().await {
        let mut request = vec![0; 8192];
        let length = socket.read(&mut request).await.unwrap_or(0);
        let text = String::from_utf8_lossy(&request[..length]).into_owned();
        let path = text.split(' ').nth(1).unwrap_or("/").to_owned();
        let page = match path.split_once("/sent?") {
            Some((_, query)) => format!("<!doctype html><meta charset=utf-8><title>收到</title><p id=answer>收到：{}</p>", decoded(query)),
            None => FORM.to_owned(),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            page.len()
        );
        let _ = socket.write_all((head + &page).as_bytes()).await;
    }
}

/// The values of a query, as text.
fn decoded(query: &str) -> String {
    let url = format!("http://x/?{query}");
    let parsed = reqwest::Url::parse(&url).unwrap();
    parsed.query_pairs().map(|(_, value)| value.into_owned()).collect::<Vec<_>>().join(" / ")
}

/// The pages of the act, served.
pub struct Board {
    /// Where the form is.
    pub address: String,
    server: tokio::task::JoinHandle<()>,
}

impl Board {
    /// Serves the form on a port of its own.
    pub async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        Self { address, server: tokio::spawn(serve(listener)) }
    }

    /// The task, in whichever browser is current.
    pub async fn task(&self, stage: &Stage, client: &Client, name: &str) {
        let opened = client.call("browser_navigate", json!({ "url": self.address })).await;
        stage.step(&format!(
            "opened {} in {}",
            opened.json["url"].as_str().unwrap_or_default(),
            opened.json["browser"].as_str().unwrap_or_default()
        ));
        client.call("browser_type", json!({ "selector": "#name", "text": "李雷" })).await;
        client.call("browser_type", json!({ "selector": "#words", "text": "今天天气很好 ☀️" })).await;
        stage.step("filled in both fields in Chinese");
        stage.page(client, &format!("{name}-form")).await;
        client.call("browser_click", json!({ "selector": "text=发送" })).await;
        client.call("browser_wait", json!({ "selector": "#answer", "timeout": 20_000 })).await;
        let answer = client.call("browser_get_content", json!({ "selector": "#answer" })).await;
        assert_eq!(answer.json["content"], "收到：李雷 / 今天天气很好 ☀️");
        stage.step("the form was sent, and the page answered with the same words");
        stage.picture(client, &format!("{name}-answer")).await;
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.server.abort();
    }
}
