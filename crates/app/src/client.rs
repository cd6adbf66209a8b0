//! The running worker, called by the person's own command line as any client would.

use crate::StateFolder;
use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::time::Duration;

/// Posts one JSON-RPC message to the worker of this state folder and returns its answer.
///
/// # Errors
/// When none runs there, or it does not answer JSON.
pub async fn post(state: &StateFolder, message: &Value) -> Result<Value> {
    let worker = state
        .running()
        .context("no worker runs in this state folder; start one with `deskhand serve`, or name its folder with --state-dir")?;
    let authority =
        worker.mcp_url.strip_prefix("http://").and_then(|u| u.split('/').next()).context("the worker's address is not understood")?;
    let stream = tokio::net::TcpStream::connect(authority).await.context("the worker does not answer")?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::post("/mcp")
        .header(header::HOST, authority)
        .header(header::AUTHORIZATION, format!("Bearer {}", state.token(None)?))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::<Bytes>::from(message.to_string()))?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    match serde_json::from_slice(&body) {
        Ok(answer) => Ok(answer),
        Err(_) => bail!("the worker answered {status}: {}", String::from_utf8_lossy(&body)),
    }
}

/// Waits until no worker runs there any more.
///
/// # Errors
/// When one still does after `patience`.
pub async fn wait_until_gone(state: &StateFolder, patience: Duration) -> Result<()> {
    let end = tokio::time::Instant::now() + patience;
    while state.running().is_some() {
        if tokio::time::Instant::now() > end {
            bail!("the worker is still running");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// The bytes of a picture in a result.
///
/// # Errors
/// When it is not base64.
pub fn base64_decode(text: &str) -> Result<Vec<u8>> {
    Ok(STANDARD.decode(text)?)
}
