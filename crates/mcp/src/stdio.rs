//! stdio: one JSON message a line, passed to the worker that is already running.
//!
//! What a client starts (`deskhand mcp start`) is a bridge, not a second worker: desktop and grants are one, and no token
//! stands in the client's file. It outlives restarts of the worker. Only messages go to standard output.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::conversation::{Conversation, Upstream};
use crate::error::McpError;
use crate::link::{Link, Locate};
use crate::rpc::{INVALID_REQUEST, RpcError};

/// Longest line in bytes.
const LINE: usize = 8 * 1024 * 1024;
/// Messages waiting for a client that reads slowly.
const BACKLOG: usize = 64;
/// How long answers under way are awaited after standard input ended; a call takes at most 120 s.
const LAST_ANSWERS: Duration = Duration::from_secs(125);
/// How long saying good-bye to the worker may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// Bridges standard input and output (or any pair) to the worker that `locate` finds, until input ends.
///
/// Answers to requests under way are still written after that. The caller should end the process afterwards with
/// `std::process::exit`, because a blocked read of standard input keeps the runtime alive.
///
/// # Errors
/// When reading or writing fails; the other end being gone is not an error.
pub async fn bridge(
    locate: Arc<dyn Locate>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), McpError> {
    converse(Arc::new(Link::new(locate)), input, output).await
}

pub(crate) async fn converse(
    upstream: Arc<dyn Upstream>,
    mut input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), McpError> {
    let (out, receiver) = mpsc::channel(BACKLOG);
    let gone = CancellationToken::new();
    let writer = tokio::spawn(write(receiver, output, gone.clone()));
    let conversation = Conversation::new(upstream, out.clone());
    let read = tokio::select! {
        () = gone.cancelled() => Ok(()),
        read = read(&mut input, &conversation, &out) => read,
    };
    drop(out);
    if !gone.is_cancelled() {
        conversation.stop_listening();
        tokio::select! {
            () = gone.cancelled() => {}
            () = conversation.drained() => {}
            () = tokio::time::sleep(LAST_ANSWERS) => {}
        }
    }
    let _ = tokio::time::timeout(FAREWELL, conversation.close()).await;
    drop(conversation);
    let _ = tokio::time::timeout(FAREWELL, writer).await;
    read.map_err(McpError::Stdio)
}

async fn read(input: &mut (impl AsyncRead + Unpin), conversation: &Arc<Conversation>, out: &mpsc::Sender<Bytes>) -> std::io::Result<()> {
    let mut lines = Lines::default();
    let mut chunk = BytesMut::with_capacity(64 * 1024);
    loop {
        chunk.clear();
        let read = input.read_buf(&mut chunk).await?;
        let found = if read == 0 { lines.end() } else { lines.feed(&chunk) };
        for line in found {
            match line {
                Line::Whole(bytes) => conversation.feed(bytes).await,
                Line::TooLong => {
                    let text = format!("Invalid request: a line is longer than {LINE} bytes");
                    let _ = out.send(RpcError::new(Value::Null, INVALID_REQUEST, text).to_bytes()).await;
                }
            }
        }
        if read == 0 {
            return Ok(());
        }
    }
}

async fn write(mut receiver: mpsc::Receiver<Bytes>, mut output: impl AsyncWrite + Unpin, gone: CancellationToken) {
    while let Some(message) = receiver.recv().await {
        // One write a message, so that a reader never sees half a line followed by nothing.
        let mut line = BytesMut::with_capacity(message.len() + 1);
        line.extend_from_slice(&message);
        line.extend_from_slice(b"\n");
        let written = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        if written.await.is_err() {
            gone.cancel();
            return;
        }
    }
}

/// What the bytes of a client came to.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Whole(Bytes),
    TooLong,
}

/// Cuts bytes into lines: any split, CRLF, a byte order mark, and a limit that holds memory flat.
#[derive(Debug, Default)]
struct Lines {
    buffer: BytesMut,
    /// Inside a line that is already over the limit: nothing is kept until its end.
    skipping: bool,
    begun: bool,
}

impl Lines {
    fn feed(&mut self, mut bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            lines.extend(self.take());
            bytes.advance(end + 1);
        }
        self.keep(bytes);
        lines
    }

    /// Input ended: what is left is a line, if it is anything.
    fn end(&mut self) -> Vec<Line> {
        self.take().into_iter().collect()
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.skipping || self.buffer.len() + bytes.len() > LINE {
            self.skipping = true;
            self.buffer = BytesMut::new();
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    fn take(&mut self) -> Option<Line> {
        if std::mem::take(&mut self.skipping) {
            return Some(Line::TooLong);
        }
        let line = self.buffer.split().freeze();
        let mut text: &[u8] = &line;
        if !std::mem::replace(&mut self.begun, true) {
            text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        }
        let text = text.trim_ascii();
        (!text.is_empty()).then(|| Line::Whole(line.slice_ref(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(texts: &[&str]) -> Vec<Line> {
        texts.iter().map(|text| Line::Whole(Bytes::copy_from_slice(text.as_bytes()))).collect()
    }

    #[test]
    fn lines_survive_any_split() {
        let text = "\u{feff}{\"a\":\"漢😀\"}\r\n\n{\"b\":1}\n{\"c\":2}".as_bytes();
        for size in 1..text.len() {
            let mut lines = Lines::default();
            let mut found: Vec<Line> = text.chunks(size).flat_map(|chunk| lines.feed(chunk)).collect();
            found.extend(lines.end());
            assert_eq!(found, whole(&["{\"a\":\"漢😀\"}", "{\"b\":1}", "{\"c\":2}"]), "chunks of {size}");
        }
    }

    #[test]
    fn a_line_without_end_takes_no_memory_and_the_next_one_counts() {
        let mut lines = Lines::default();
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..64 {
            assert!(lines.feed(&chunk).is_empty());
            assert!(lines.buffer.capacity() <= 2 * LINE);
        }
        assert_eq!(lines.feed(b"x\n{}\n"), [Line::TooLong, Line::Whole(Bytes::from_static(b"{}"))]);
        let fits = vec![b'y'; LINE];
        assert!(lines.feed(&fits).is_empty());
        assert!(matches!(&lines.feed(b"\n")[..], [Line::Whole(line)] if line.len() == LINE));
    }
}
