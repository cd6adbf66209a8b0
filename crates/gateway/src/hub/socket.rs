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
    let (mut sink, stream) = socket.split();
    let heard = Notify::new();
    let why = tokio::select! {
        why = read(stream, link, hub, catalogue, &heard) => return why,
        why = write(&mut sink, link, frames) => return why,
        () = watch_silence(link, &heard) => "no answer to a ping",
        close = link.closed() => {
            let frame = CloseFrame { code: close.code(), reason: close.reason().into() };
            let _gone = timeout(Duration::from_secs(2), sink.send(Message::Close(Some(frame)))).await;
            close.reason()
        }
    };
    why
}

async fn read(mut stream: SplitStream<WebSocket>, link: &Link, hub: &Hub, catalogue: &Catalogue, heard: &Notify) -> &'static str {
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
            Ok(Message::Close(_)) => return "closed by the executor",
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(user = link.user(), %error, "socket failed");
                return "the connection failed";
            }
        }
    }
    "the connection ended"
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
