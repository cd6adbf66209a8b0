//! After an action: what it set in motion is followed until its result is known, and no longer. Nothing is waited for
//! that the page did not begin.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::Page;
use crate::error::BrowserError;
use crate::tab::{Downloaded, FrameId, Moment, State};

/// How long an action waits for the navigation that it began.
const NAVIGATION: Duration = Duration::from_secs(5);
/// How long a new window may take to be a tab.
const WINDOW: Duration = Duration::from_secs(3);
/// How long a download may take and still be reported as complete.
const DOWNLOAD: Duration = Duration::from_secs(3);
/// The same for one that is known to be small, so that only a slow machine or server keeps it.
const SMALL_DOWNLOAD: Duration = Duration::from_secs(10);
/// What is small, in bytes.
const SMALL: u64 = 8 * 1024 * 1024;
/// A navigation that ends without a document may turn out to be a download a moment later.
const TURN: Duration = Duration::from_millis(1200);
/// How long the page's own handlers are waited for.
const FENCE: Duration = Duration::from_secs(2);

impl Page {
    /// Follows what an action began. Says whether another document came.
    ///
    /// # Errors
    /// What the tab was lost for, other than by being closed by its own page.
    pub(crate) async fn settle(&self, before: &Moment, frame: &FrameId) -> Result<bool, BrowserError> {
        self.fence(frame).await;
        let end = self.until(NAVIGATION);
        let open = self.tab.look(|s| s.moment.started.is_some());
        if open {
            self.tab
                .wait_for(end.saturating_duration_since(Instant::now()), |s| (s.moment.started.is_none() || s.lost.is_some()).then_some(()))
                .await;
        }
        let now = self.tab.look(|s| s.moment.clone());
        if now.aborted != before.aborted && now.downloads == before.downloads {
            let (begun, commits) = (before.downloads, before.commits);
            self.tab.wait_for(TURN, |s| (s.moment.downloads != begun || s.moment.commits != commits).then_some(())).await;
        }
        let now = self.tab.look(|s| s.moment.clone());
        let navigated = now.commits != before.commits;
        if navigated {
            self.tab.wait_for(end.saturating_duration_since(Instant::now()), |s| (s.dom_ready() || s.lost.is_some()).then_some(())).await;
        } else if open && now.started.is_some() {
            self.tab.change(|s| s.notices.note("the page began to open another address, which has not answered yet"));
        }
        let (wanted, had) = (now.windows.saturating_sub(before.windows), before.opened);
        if wanted > 0 {
            self.tab.wait_for(WINDOW, |s| (s.moment.opened >= had + wanted).then_some(())).await;
        }
        self.downloads(before).await;
        Ok(navigated)
    }

    /// Waits a moment for downloads that began, so that their place can be told.
    pub(crate) async fn downloads(&self, before: &Moment) {
        if self.tab.look(|s| s.moment.downloads == before.downloads) {
            return;
        }
        let (brief, patient) = (self.until(DOWNLOAD), self.until(SMALL_DOWNLOAD));
        let settled = |s: &mut State| s.notices.downloads.iter().all(Downloaded::settled).then_some(());
        if self.tab.wait_for(brief.saturating_duration_since(Instant::now()), settled).await.is_some() {
            return;
        }
        // One that is large, or does not say how large it is, goes on by itself; its end is told by a later result.
        let done = |s: &mut State| {
            let open: Vec<&Downloaded> = s.notices.downloads.iter().filter(|d| !d.settled()).collect();
            (open.is_empty() || open.iter().any(|d| d.total == 0 || d.total > SMALL)).then_some(())
        };
        self.tab.wait_for(patient.saturating_duration_since(Instant::now()), done).await;
    }

    /// Returns when the page has done all that it does at once because of the events it got: an answer of its process
    /// comes after everything that it told before.
    async fn fence(&self, frame: &FrameId) {
        let Some(session) = self.tab.session_of(frame) else { return };
        let asked = self.tab.send_to(session, "Runtime.evaluate", json!({"expression": "0"}));
        let _ = tokio::time::timeout(FENCE, asked).await;
    }
}
