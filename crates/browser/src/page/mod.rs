//! The page operations, written once above the [`Transport`](crate::Transport): each takes a tab and a deadline, and
//! tells what really happened.

mod click;
mod execute;
mod keyboard;
mod keys;
mod locate;
mod navigate;
mod place;
mod read;
mod screenshot;
mod scroll;
mod settle;
mod typing;
mod upload;
mod value;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

pub use self::click::Clicked;
pub use self::execute::Executed;
pub use self::keyboard::{Modifiers, Pressed};
pub use self::navigate::{Arrived, Went};
pub use self::read::{Attribute, Content, Link, Links, TEXT_MAX, Viewport};
pub use self::screenshot::{Picture, Shot};
pub use self::scroll::Scrolled;
pub use self::typing::Typed;
use crate::error::BrowserError;
use crate::tab::{Happened, Tab};

/// How long an action waits for its element to become what it has to be. Long enough for a page that is still moving,
/// short enough that an agent learns soon of what is in the way.
pub(crate) const PATIENCE: Duration = Duration::from_secs(4);

/// One tab, for one call.
#[derive(Debug, Clone)]
pub struct Page {
    pub(crate) tab: Arc<Tab>,
    pub(crate) deadline: Instant,
}

impl Page {
    pub(crate) fn new(tab: Arc<Tab>, deadline: Instant) -> Self {
        Self { tab, deadline }
    }

    /// The number of the tab.
    #[must_use]
    pub fn tab_id(&self) -> crate::TabId {
        self.tab.id
    }

    /// The address that the tab shows.
    #[must_use]
    pub fn url(&self) -> String {
        self.tab.url()
    }

    /// Whether it is still loading.
    #[must_use]
    pub fn loading(&self) -> bool {
        self.tab.loading()
    }

    /// What happened in the tab since a result last told; told once.
    #[must_use]
    pub fn happened(&self) -> Happened {
        self.tab.happened()
    }

    /// One raw command, given up at the deadline.
    pub(crate) async fn send(&self, method: &str, params: Value) -> Result<Value, BrowserError> {
        self.in_time("the browser does not answer; the page's own scripts may be busy", self.tab.send(method, params)).await
    }

    /// Gives something up at the deadline, with these words.
    pub(crate) async fn in_time<T>(&self, what: &str, doing: impl Future<Output = Result<T, BrowserError>>) -> Result<T, BrowserError> {
        let begun = Instant::now();
        match tokio::time::timeout_at(self.deadline, doing).await {
            Ok(done) => done,
            Err(_) => Err(BrowserError::TimedOut { what: what.to_owned(), after: begun.elapsed() }),
        }
    }

    /// The earlier of the deadline and `patience` from now.
    pub(crate) fn until(&self, patience: Duration) -> Instant {
        self.deadline.min(Instant::now() + patience)
    }
}
