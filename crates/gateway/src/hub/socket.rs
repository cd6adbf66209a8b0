//! An executor's WebSocket: reads frames, writes frames, pings, and closes.
//!
//! Reading and writing run side by side in one task: a peer that reads slowly must not stop us reading its answers.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::frames::{self, Incoming};
use super::link::Outgoing;
use super::{Hub, Link, Service};
use crate::catalogue::Catalogue;

/// A ping goes out this often.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(30);
/// A peer from which nothing came this long after a ping is gone.
const PONG_WITHIN: Duration = Duration::from_secs(12);
/// A frame that cannot be written for this long: the peer does not read any more.
const WRITE_WITHIN: Duration = Duration::from_secs(20);
/// A peer that is told goodbye gets this long to read it.
const GOODBYE_WITHIN: Duration = Duration::from_secs(3);
/// Largest message from an executor, in bytes: a 10 MB result passes, memory stays bounded.
const LARGEST: usize = 32 << 20;

/// Answers the upgrade. Buffers start small, because thousands of executors idle.
pub(crate) fn accept(
    upgrade: WebSocketUpgrade,
    hub: Arc<Hub>,
    catalogue: Arc<Catalogue>,
    user: String,
    service: Service,
    generation: i64,
) -> Response {
    upgrade
        .read_buffer_size(4 << 10)
        .write_buffer_size(4 << 10)
        .max_write_buffer_size(LARGEST * 2)
        .max_message_size(LARGEST)
        .max_frame_size(LARGEST)
        .on_upgrade(move |socket| async move {
            let most = hub.limits().calls_per_link;
            let (link, frames) = Link::new(hub.next_serial(), user, service, generation, most);
            if !hub.register(&link) {
                refuse(socket).await;
                return;
            }
            tracing::info!(user = link.user(), service = service.name(), "executor connected");
            let why = run(socket, &link, frames, &hub, &catalogue).await;
            hub.deregister(&link);
            link.end();
            tracing::info!(user = link.user(), service = service.name(), why, "executor gone");
        })
}

async fn refuse(mut socket: WebSocket) {
    let frame = CloseFrame { code: 1013, reason: "the gateway has as many executors as it takes; try again later".into() };
    let _gone = timeout(WRITE_WITHIN, socket.send(Message::Close(Some(frame)))).await;
}

/// Serves the socket until one side ends it; says why in words.
async fn run(socket: WebSocket, link: &Link, frames: mpsc::Receiver<Outgoing>, hub: &Hub, catalogue: &Catalogue) -> &'static str {
    let (mut sink, mut stream) = socket.split();
    let heard = Notify::new();
    let (code, reason) = tokio::select! {
        ended = read(&mut stream, link, hub, catalogue, &heard) => match ended {
            End::Gone(why) => return why,
            End::Broken(code, why) => (code, why),
        },
        why = write(&mut sink, link, frames) => return why,
        () = watch_silence(link, &heard) => return "no answer to a ping",
        close = link.closed() => (close.code(), close.reason()),
    };
    // Nobody may begin to wait for an answer from it while it says goodbye.
    hub.deregister(link);
    link.end();
    goodbye(&mut sink, &mut stream, code, reason).await;
    reason
}

/// Tells why, and reads on until the peer has read it: closing a connection in which something is unread would tear it
/// down at once, and the peer would take a replacement for a fault of the network.
async fn goodbye(sink: &mut SplitSink<WebSocket, Message>, stream: &mut SplitStream<WebSocket>, code: u16, reason: &'static str) {
    let frame = CloseFrame { code, reason: reason.into() };
    let told = async {
        if sink.send(Message::Close(Some(frame))).await.is_ok() {
            while let Some(Ok(_)) = stream.next().await {}
        }
    };
    let _gone = timeout(GOODBYE_WITHIN, told).await;
}

/// How reading ended.
enum End {
    /// There is nobody to tell anything.
    Gone(&'static str),
    /// The peer broke the rules of the protocol, and is told with that close code.
    Broken(u16, &'static str),
}

async fn read(stream: &mut SplitStream<WebSocket>, link: &Link, hub: &Hub, catalogue: &Catalogue, heard: &Notify) -> End {
    while let Some(message) = stream.next().await {
        heard.notify_one();
        match message {
            Ok(Message::Text(text)) => match frames::sort(text.as_str()) {
                Incoming::Hello(mut hello) => {
                    let tools = catalogue.intern(std::mem::take(&mut hello.tools), link.service());
                    link.take_hello(hello, tools, hub.clock().now_ms());
                    hub.notify();
                }
                Incoming::Answer(id, answer) => {
                    if !link.deliver(id, answer) {
                        tracing::debug!(user = link.user(), id, "late or unknown answer dropped");
                    }
                }
                Incoming::Noise => tracing::debug!(user = link.user(), bytes = text.len(), "frame ignored"),
            },
            Ok(Message::Close(_)) => return End::Gone("closed by the executor"),
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(user = link.user(), %error, "socket failed");
                return broken(&error);
            }
        }
    }
    End::Gone("the connection ended")
}

/// The close code that says what the peer did wrong.
fn broken(error: &axum::Error) -> End {
    use tungstenite::Error;
    match std::error::Error::source(error).and_then(|source| source.downcast_ref::<Error>()) {
        Some(Error::Capacity(_)) => End::Broken(1009, "a frame was larger than 32 MiB"),
        Some(Error::Utf8(_)) => End::Broken(1007, "a text frame was not UTF-8"),
        Some(Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake)) => End::Gone("the connection failed"),
        Some(Error::Protocol(_)) => End::Broken(1002, "a frame broke the WebSocket protocol"),
        _ => End::Gone("the connection failed"),
    }
}

async fn write(sink: &mut SplitSink<WebSocket, Message>, link: &Link, mut frames: mpsc::Receiver<Outgoing>) -> &'static str {
    let mut pings = interval(PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pings.reset();
    loop {
        let message = tokio::select! {
            frame = frames.recv() => match frame {
                // A call that was given up while it queued is not sent any more.
                Some(Outgoing { call: Some(id), .. }) if !link.waits(id) => continue,
                Some(frame) => Message::Text(frame.text.into()),
                None => return "the gateway let go of it",
            },
            _ = pings.tick() => Message::Ping(Default::default()),
        };
        match timeout(WRITE_WITHIN, sink.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return "the connection failed",
            Err(_) => return "the executor does not read",
        }
    }
}

/// Returns when nothing was heard for a ping interval plus the time to answer.
async fn watch_silence(link: &Link, heard: &Notify) {
    let mut last = Instant::now();
    loop {
        let until = last + PING_EVERY + PONG_WITHIN;
        tokio::select! {
            () = heard.notified() => last = Instant::now(),
            () = tokio::time::sleep_until(until) => {
                tracing::debug!(user = link.user(), "executor is silent");
                return;
            }
        }
    }
}
