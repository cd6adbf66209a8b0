//! One open socket: reads calls, writes answers, notices when the other end is gone.

use std::future::poll_fn;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, Stream, StreamExt};
use std::pin::Pin;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_tungstenite::MaybeTlsStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{self, Message, protocol::CloseFrame};
use tokio_util::sync::CancellationToken;

use super::calls::Calls;
use super::{Ended, Shared, Socket, Target};
use crate::address::Service;
use crate::clock::{Lateness, Moment};
use crate::frames::{self, Incoming};
use crate::network;

/// We ping this often.
const PING_EVERY: Duration = Duration::from_secs(12);
/// A gateway from which nothing came for this long is gone (45 s is the promise).
const SILENCE: Duration = Duration::from_secs(38);
/// After the machine slept or its network changed, the other end gets this long to show a sign of life.
const AFTER_SLEEP: Duration = Duration::from_secs(8);
/// The reading task looks at the clock this often.
const TICK: Duration = Duration::from_secs(1);
/// A frame that cannot be written for this long: the gateway does not read any more.
const WRITE_WITHIN: Duration = Duration::from_secs(20);
/// Answers waiting to be written.
const QUEUE: usize = 64;

/// An answer on its way out.
pub(crate) struct Outgoing {
    pub(crate) text: String,
    /// The tool it answers for, and whether it succeeded.
    pub(crate) of: Option<(String, bool)>,
}

/// Serves the socket until one side ends it, and says whether any call came over it. All its calls are cancelled then.
pub(crate) async fn serve(socket: Socket, shared: &Shared, target: &Target, service: Service, stop: &CancellationToken) -> (Ended, bool) {
    let kernel = kernel_side(&socket);
    let (mut sink, stream) = socket.split();
    let (out, mut queue) = mpsc::channel(QUEUE);
    let cancel = CancellationToken::new();
    let _cancel_all = cancel.clone().drop_guard();
    let calls = Calls::new(shared, target, service, out.clone(), cancel.clone());
    let ended = tokio::select! {
        ended = read(stream, kernel, &calls, &out) => ended,
        ended = write(&mut sink, &mut queue) => ended,
        () = announce(shared, service, &out) => Ended::Stopped,
        () = stop.cancelled() => {
            cancel.cancel();
            let bye = CloseFrame { code: CloseCode::Away, reason: "AI control ended".into() };
            let _gone = timeout(Duration::from_secs(2), sink.send(Message::Close(Some(bye)))).await;
            Ended::Stopped
        }
    };
    cancel.cancel();
    // What was queued reaches nobody; what still runs learns it when it wants to queue.
    queue.close();
    while let Ok(answer) = queue.try_recv() {
        if let Some((tool, ok)) = answer.of {
            shared.desk.undelivered(&calls.caller(), &tool, ok);
        }
    }
    if service == Service::Computer {
        shared.desk.gone(&calls.caller()).await;
    }
    (ended, calls.were_any())
}

/// Says hello first, and again whenever the list of tools changed.
async fn announce(shared: &Shared, service: Service, out: &mpsc::Sender<Outgoing>) {
    let mut changes = shared.tools_changed.clone();
    let mut last = None;
    loop {
        changes.mark_unchanged();
        let text = frames::hello(&shared.instance, &shared.desk.tools(service).await);
        if last.as_ref() != Some(&text) {
            if out.send(Outgoing { text: text.clone(), of: None }).await.is_err() {
                return;
            }
            last = Some(text);
        }
        if changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

async fn read(mut stream: SplitStream<Socket>, kernel: Option<OwnedFd>, calls: &Calls<'_>, out: &mpsc::Sender<Outgoing>) -> Ended {
    let began = Moment::now();
    let mut lateness = Lateness::new(began);
    let mut heard = began;
    let mut pinged = began;
    let mut network = network::Watch::new();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            message = next(&mut stream, kernel.as_ref(), &mut lateness) => message,
            _ = ticks.tick() => {
                let now = Moment::now();
                if let Some(gap) = lateness.woke(now) {
                    tracing::info!(seconds = gap.as_secs(), "this machine slept or this process was stopped");
                    calls.expire(now);
                    heard = heard.max(Moment(now.0.saturating_sub(SILENCE - AFTER_SLEEP)));
                    ping(out);
                }
                if network.changed() {
                    // The way to the gateway may be another one now, on which nothing of this socket arrives any more.
                    heard = heard.min(Moment(now.0.saturating_sub(SILENCE - AFTER_SLEEP)));
                    ping(out);
                }
                if now.since(heard) > SILENCE {
                    return Ended::Lost("the gateway shows no sign of life".into());
                }
                if now.since(pinged) >= PING_EVERY {
                    pinged = now;
                    ping(out);
                }
                calls.expire(now);
                continue;
            }
        };
        let now = Moment::now();
        heard = now;
        match message {
            Some(Ok(Message::Text(text))) => take(text.as_str(), calls, lateness.is_late(now), now),
            Some(Ok(Message::Close(frame))) => return closed(frame),
            Some(Ok(_)) => {}
            Some(Err(tungstenite::Error::Capacity(error))) => return Ended::Lost(format!("a frame was too large: {error}")),
            Some(Err(error)) => return Ended::Lost(format!("the connection failed: {error}")),
            None => return Ended::Lost("the connection ended".into()),
        }
    }
}

/// A second handle on the socket, to ask the kernel what waits in it.
fn kernel_side(socket: &Socket) -> Option<OwnedFd> {
    let stream = match socket.get_ref() {
        MaybeTlsStream::Plain(stream) => stream,
        MaybeTlsStream::Rustls(stream) => stream.get_ref().0,
        _ => return None,
    };
    stream.as_fd().try_clone_to_owned().ok()
}

/// The next message; notes when there was none to read. The runtime's word for that is not enough: after a stop it may
/// not have heard of what came in yet. So the kernel is asked too, and the time is taken before, not after: a stop in
/// between then makes the socket seem full for longer, never for shorter.
async fn next(
    stream: &mut SplitStream<Socket>,
    kernel: Option<&OwnedFd>,
    lateness: &mut Lateness,
) -> Option<Result<Message, tungstenite::Error>> {
    poll_fn(|context| {
        let now = Moment::now();
        let polled = Pin::new(&mut *stream).poll_next(context);
        let nothing_waits = || kernel.is_none_or(|kernel| rustix::io::ioctl_fionread(kernel).is_ok_and(|bytes| bytes == 0));
        if polled.is_pending() && nothing_waits() {
            lateness.empty(now);
        }
        polled
    })
    .await
}

fn take(text: &str, calls: &Calls<'_>, late: bool, now: Moment) {
    match frames::sort(text) {
        Incoming::Hello { now_ms } => calls.greeted(now_ms),
        Incoming::Call(call) if late => calls.refuse(
            call.id,
            "this call was read more than 5 s after it may have been sent, because this machine slept or was busy; it was not run. Look at the screen or page, then call again.",
        ),
        Incoming::Call(call) => calls.run(call, now),
        Incoming::Cancel(id) => calls.cancel(id),
        Incoming::Unclear(id) => calls.refuse(id, "this frame names no tool"),
        Incoming::Noise => tracing::debug!(bytes = text.len(), "frame ignored"),
    }
}

fn closed(frame: Option<CloseFrame>) -> Ended {
    match frame {
        Some(frame) if frame.code == CloseCode::Normal => Ended::Replaced,
        Some(frame) => {
            let reason: String = frame.reason.chars().filter(|c| !c.is_control()).take(120).collect();
            Ended::Lost(format!(
                "the gateway closed the connection ({}{}{reason})",
                u16::from(frame.code),
                if reason.is_empty() { "" } else { ": " }
            ))
        }
        None => Ended::Lost("the gateway closed the connection".into()),
    }
}

/// An empty text stands for a ping: both go through the one writer.
fn ping(out: &mpsc::Sender<Outgoing>) {
    let _full = out.try_send(Outgoing { text: String::new(), of: None });
}

async fn write(sink: &mut SplitSink<Socket, Message>, queue: &mut mpsc::Receiver<Outgoing>) -> Ended {
    while let Some(Outgoing { text, .. }) = queue.recv().await {
        let message = if text.is_empty() { Message::Ping(Default::default()) } else { Message::Text(text.into()) };
        match timeout(WRITE_WITHIN, sink.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Ended::Lost(format!("the connection failed: {error}")),
            Err(_) => return Ended::Lost("the gateway does not read any more".into()),
        }
    }
    Ended::Stopped
}
