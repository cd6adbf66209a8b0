//! What moves the gate down besides the person's word: time, a locked session, the stop key, the person's own input.

use anyhow::{Context, Result};
use deskhand_core::Gate;
use deskhand_desktop::input::{Desktop, chord};
use deskhand_desktop::session::{Session, State};
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;

/// How long after the last thing we sent the person's hand still counts as taking over: agents act in bursts.
const TAIL: Duration = Duration::from_millis(1_500);

/// Watches for as long as the worker runs. Dropping it ends the watching.
pub(crate) struct Watches(Vec<tokio::task::JoinHandle<()>>);

impl Drop for Watches {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

impl Watches {
    /// Ends AI control when its time is over, and when the session is locked.
    pub(crate) fn start(gate: &Gate, session: &Session) -> Self {
        let expiring = gate.clone();
        let time = tokio::spawn(async move { expiring.expire().await });
        let locking = gate.clone();
        let mut states = session.watch();
        let lock = tokio::spawn(async move {
            while states.changed().await.is_ok() {
                let locked = matches!(*states.borrow_and_update(), State::Locked(_));
                match locked {
                    true if locking.asks() => locking.stop("the session was locked"),
                    // Nobody could authorise it again: each call asks for the session's state by itself.
                    true => locking.interrupt("the session was locked"),
                    // While it was locked nothing was shown or done, so what the caller last saw is what it was.
                    false => {}
                }
            }
        });
        Self(vec![time, lock])
    }

    /// Ends AI control when these keys are pressed, whatever has the focus.
    ///
    /// # Errors
    /// When the keys are no keys, or cannot be armed here.
    pub(crate) fn stop_key(&mut self, keys: &str, gate: &Gate, desktop: &Desktop) -> Result<()> {
        let parsed = chord(&[keys]).with_context(|| format!("the stop key {keys:?}"))?;
        let mut armed = desktop.stop_key(&parsed).context("the stop key cannot be armed")?;
        let (gate, desktop, why) = (gate.clone(), desktop.clone(), format!("the person pressed {keys}"));
        self.0.push(tokio::spawn(async move {
            while armed.pressed().await.is_some() {
                gate.stop(&why);
                let desktop = desktop.clone();
                let _ = tokio::task::spawn_blocking(move || desktop.release_all()).await;
            }
        }));
        Ok(())
    }

    /// Pauses AI control when somebody else's hand is on mouse or keyboard while an agent acts.
    ///
    /// # Errors
    /// When the system does not tell.
    pub(crate) fn takeover(&mut self, gate: &Gate, desktop: &Desktop) -> Result<()> {
        let mut hands = desktop.takeover_events().context("input of the person's own cannot be told apart here")?;
        let gate = gate.clone();
        self.0.push(tokio::spawn(async move {
            loop {
                match hands.recv().await {
                    // What came before an action's first event is no taking over; the display's own order decides.
                    Ok(hand) if hand.since_ours.is_some_and(|since| since < TAIL) => {
                        gate.pause("the person took over mouse or keyboard; nothing is done until they resume AI control in Deskhand (or with `deskhand resume`)");
                    }
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        }));
        Ok(())
    }
}
