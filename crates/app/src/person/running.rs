//! The worker under the person's hand: brought up, started anew, taken down. A worker that cannot start is no end of the
//! app but a sentence with the next step.

use super::settings::Settings;
use super::{Activity, Entry, Person};
use crate::worker::{Rearm, Worker, WorkerParts};
use base64::Engine as _;
use deskhand_browser::extension::Relay;
use deskhand_core::{Dispatcher, GateState};
use deskhand_desktop::screen::{self, Area, Fit, Rect};
use deskhand_executor::Executor;
use deskhand_tools::Host;
use std::sync::Arc;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

/// A picture of a click: so much of the screen around it.
const AROUND: (u32, u32) = (220, 140);

/// What a running worker is reached by.
pub(super) struct Running {
    pub(super) dispatcher: Dispatcher,
    pub(super) host: Arc<Host>,
    pub(super) relay: Relay,
    pub(super) executor: Arc<Executor>,
    pub(super) watches: Arc<Rearm>,
    /// What it was started with.
    pub(super) settings: Settings,
    /// Where it listens: `127.0.0.1:47800`.
    pub(super) address: String,
    stopping: CancellationToken,
    ended: tokio::task::JoinHandle<()>,
}

/// What came of starting the worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Started {
    /// It runs.
    Yes,
    /// It does not; the snapshot says why.
    No,
}

/// The worker runs without something that it should have.
pub(super) fn unarmed(why: &str) -> String {
    format!(
        "Stop key and takeover do not work ({why}). Choose another stop key in Settings; until then use the Stop button in the tray or in this window."
    )
}

impl Person {
    /// Starts the worker and everything that keeps the person's view of it up to date.
    pub async fn start(&self) -> Started {
        let keeping = self.clone();
        self.spawn(async move { keeping.follow_gate().await });
        let asking = self.clone();
        self.spawn(async move {
            let mut changes = asking.0.questions.changes();
            while changes.changed().await.is_ok() {
                asking.notify();
            }
        });
        self.restart().await
    }

    /// Starts the worker anew with what is set now.
    pub async fn restart(&self) -> Started {
        let _changing = self.0.changing.lock().await;
        if self.0.over.is_cancelled() {
            return Started::No;
        }
        self.take_down().await;
        let settings = self.settings();
        match self.bring_up(&settings).await {
            Ok((running, warning)) => {
                *self.0.running.lock() = Some(running);
                self.problem(warning);
                Started::Yes
            }
            Err(error) => {
                tracing::warn!("the worker cannot start: {error:#}");
                self.problem(Some(unstarted(&error, &settings)));
                Started::No
            }
        }
    }

    async fn bring_up(&self, settings: &Settings) -> anyhow::Result<(Running, Option<String>)> {
        let mut options = settings.options();
        options.state_dir = Some(self.0.state.path().to_owned());
        // Keys and takeover are armed below: a system that cannot watch them still gets a worker, and the person is told.
        let (keys, takeover) = (options.stop_key.take(), std::mem::take(&mut options.takeover));
        let (state, gate) = (self.0.state.clone(), self.0.gate.clone());
        let worker = Worker::start(WorkerParts { options: options.clone(), state, gate, virtual_display: None }).await?;
        let watches = worker.watches();
        (options.stop_key, options.takeover) = (keys, takeover);
        let armed = watches.arm(&options).map_err(|e| format!("{e:#}"));
        let address = worker.ready["mcp_url"].as_str().and_then(|u| u.strip_prefix("http://")?.split('/').next());
        let address = address.unwrap_or_default().to_owned();
        let (dispatcher, host) = (worker.dispatcher.clone(), Arc::clone(&worker.host));
        let (relay, executor, stopping) = (worker.relay.clone(), Arc::clone(&worker.executor), worker.stopping());
        let person = self.clone();
        let ended = self.spawn(async move {
            worker.run().await;
            // Not for a restart: somebody ended the worker, and with it this app.
            if !person.0.changing_now() {
                person.0.over.cancel();
            }
        });
        let running = Running { dispatcher, host, relay, executor, watches, settings: settings.clone(), address, stopping, ended };
        self.follow(&running);
        Ok((running, armed.err().map(|why| unarmed(&why))))
    }

    async fn take_down(&self) {
        let running = self.0.running.lock().take();
        if let Some(running) = running {
            running.stopping.cancel();
            drop((running.host, running.dispatcher, running.relay, running.executor, running.watches));
            let _ = running.ended.await;
        }
    }

    /// Ends the worker, and with it the app.
    pub async fn end(&self) {
        let _changing = self.0.changing.lock().await;
        self.take_down().await;
        self.0.over.cancel();
    }

    /// Saves what the gate remembers, and starts the worker anew once AI control is off and a setting waits for that.
    async fn follow_gate(&self) {
        let mut changes = self.0.gate.changes();
        while changes.changed().await.is_ok() {
            self.keep_standing();
            if matches!(self.0.gate.state(), GateState::Off { .. }) && self.0.running.lock().is_some() {
                self.restart_when_possible();
            }
            self.notify();
        }
    }

    /// Keeps up with the worker's calls, browsers and gateway, for as long as it runs.
    fn follow(&self, running: &Running) {
        let (mut lines, stop) = (running.dispatcher.audit().lines(), running.stopping.clone());
        let (person, host) = (self.clone(), Arc::downgrade(&running.host));
        self.spawn(async move {
            loop {
                let line = tokio::select! {
                    line = lines.recv() => line,
                    () = stop.cancelled() => return,
                };
                match line {
                    Ok(line) => person.note(&line, &host),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        });
        let (mut browsers, mut gateway, stop) = (running.relay.changes(), running.executor.watch(), running.stopping.clone());
        let person = self.clone();
        self.spawn(async move {
            loop {
                tokio::select! {
                    changed = browsers.changed() => if changed.is_err() { return },
                    changed = gateway.changed() => if changed.is_err() { return },
                    () = stop.cancelled() => return,
                }
                person.notify();
            }
        });
    }

    fn note(&self, line: &serde_json::Value, host: &std::sync::Weak<Host>) {
        let Some(entry) = self.0.activity.note(line) else { return };
        if entry.result == "running" {
            self.0.seen.lock().insert(entry.caller.clone(), entry.start);
        }
        let clicked = entry.result == "ok" && entry.groups.iter().any(|g| g == "mouse");
        match host.upgrade().filter(|_| clicked) {
            Some(host) => {
                let (activity, entries) = (Arc::clone(&self.0.activity), self.0.entries.clone());
                self.0.runtime.spawn_blocking(move || send(&activity, &entries, entry, &host));
            }
            None => {
                let _ = self.0.entries.send(entry);
            }
        }
        self.notify();
    }
}

impl super::Inner {
    fn changing_now(&self) -> bool {
        self.changing.try_lock().is_err()
    }
}

/// Takes a small picture of where the pointer is, and tells of the call with it.
fn send(activity: &Activity, entries: &tokio::sync::broadcast::Sender<Entry>, mut entry: Entry, host: &Host) {
    if let Some(picture) = around_the_pointer(host) {
        activity.keep(&entry.call, picture.clone());
        entry.picture = Some(picture);
    }
    let _ = entries.send(entry);
}

fn around_the_pointer(host: &Host) -> Option<String> {
    host.session.state().open().ok()?;
    let at = host.desktop.pointer().ok()?;
    let (width, height) = AROUND;
    let corner = (at.x - i32::try_from(width / 2).ok()?, at.y - i32::try_from(height / 2).ok()?);
    let capture = host.display.capture(&Area::Region(Rect::new(corner.0, corner.1, width, height))).ok()?;
    let picture = screen::fit(&capture.image(), &Fit { format: Some(screen::Format::Jpeg), quality: Some(70), ..Fit::default() }).ok()?;
    Some(format!("data:image/jpeg;base64,{}", base64::engine::general_purpose::STANDARD.encode(&picture.bytes)))
}

/// Why the worker does not run, with the next step.
fn unstarted(error: &anyhow::Error, settings: &Settings) -> String {
    let why = format!("{error:#}");
    let taken = error.chain().any(|c| c.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::AddrInUse));
    if taken {
        return format!(
            "Another program uses port {}, so AI clients cannot reach Deskhand. End that program, or choose another port in Settings.",
            settings.port
        );
    }
    if why.starts_with("a worker already runs") {
        return format!("Deskhand already runs without this window: {why}.");
    }
    format!("Deskhand cannot work now: {why}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_comes_with_its_next_step() {
        let settings = Settings::default();
        let taken =
            anyhow::Error::from(std::io::Error::from(std::io::ErrorKind::AddrInUse)).context("127.0.0.1:47800 cannot be listened on");
        assert!(unstarted(&taken, &settings).contains("another port in Settings"));
        assert!(unstarted(&anyhow::anyhow!("a worker already runs in /x (process 7); use that one"), &settings).contains("process 7"));
        assert!(unarmed("another program has it").contains("Stop button"));
    }
}
