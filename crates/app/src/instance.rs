//! One tray app a state folder: the first one holds a lock, later ones ask it to show its window and end.

use crate::control;
use crate::state::StateFolder;
use anyhow::{Context, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::time::Duration;

/// The hold of a tray app on its state folder; given up when it ends, however it ends.
pub struct Instance {
    _lock: File,
    listening: Option<tokio::task::JoinHandle<()>>,
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(listening) = &self.listening {
            listening.abort();
        }
    }
}

impl Instance {
    /// Becomes the one tray app of this folder, or, when there is one, asks it to show its window (if `show`) and is `None`.
    ///
    /// # Errors
    /// When the state folder cannot be used.
    pub async fn claim(state: &StateFolder, show: bool) -> Result<Option<Self>> {
        let path = state.join("window.lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = file.with_context(|| format!("{} cannot be opened", path.display()))?;
        match lock.try_lock() {
            Ok(()) => return Ok(Some(Self { _lock: lock, listening: None })),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error).with_context(|| format!("{} cannot be locked", path.display())),
        }
        // It may be starting and not listen yet.
        for _ in 0..50 {
            if !show || control::ask_to_show(state).await {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(None)
    }

    /// Calls `show` whenever another start asks for the window.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn listen(&mut self, state: &StateFolder, show: impl Fn() + Send + Sync + 'static) -> Result<()> {
        self.listening = Some(control::await_others(state, show)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::sync::Notify;

    #[tokio::test]
    async fn a_second_start_shows_the_first_ones_window() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateFolder::open(Some(dir.path())).unwrap();
        let mut first = Instance::claim(&state, true).await.unwrap().unwrap();
        let shown = Arc::new(Notify::new());
        first
            .listen(&state, {
                let shown = Arc::clone(&shown);
                move || shown.notify_one()
            })
            .unwrap();
        assert!(Instance::claim(&state, true).await.unwrap().is_none());
        tokio::time::timeout(Duration::from_secs(10), shown.notified()).await.unwrap();
        // A hidden start disturbs nobody.
        assert!(Instance::claim(&state, false).await.unwrap().is_none());
        drop(first);
        assert!(Instance::claim(&state, false).await.unwrap().is_some());
    }
}
