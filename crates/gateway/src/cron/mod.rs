//! Cron: schedules, and the task that fires them.

mod delivery;
mod schedule;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub use delivery::Webhook;
pub use schedule::Schedule;

use crate::error::Result;
use crate::metrics::Metrics;
use crate::store::{CronRow, Store, now_ms};

/// Entries a user may have.
pub(crate) const MOST_PER_USER: usize = 100;
/// Longest prompt, in bytes.
pub(crate) const LONGEST_PROMPT: usize = 16 << 10;
/// Looks at the database at least this often: another gateway process may share it.
const AT_LEAST: Duration = Duration::from_secs(30);
/// Waits after a failure of the database.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// Deliveries at once.
const AT_ONCE: usize = 8;

/// Fires entries when they are due.
pub struct Cron {
    store: Store,
    webhook: Option<Webhook>,
    metrics: Arc<Metrics>,
    changed: Notify,
    turns: Arc<tokio::sync::Semaphore>,
}

impl std::fmt::Debug for Cron {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cron").field("configured", &self.webhook.is_some()).finish_non_exhaustive()
    }
}

impl Cron {
    /// Over the entries in that database; without a webhook entries are kept but not delivered.
    #[must_use]
    pub fn new(store: Store, webhook: Option<Webhook>, metrics: Arc<Metrics>) -> Self {
        Self { store, webhook, metrics, changed: Notify::new(), turns: Arc::new(tokio::sync::Semaphore::new(AT_ONCE)) }
    }

    /// Whether fired entries reach anybody.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.webhook.is_some()
    }

    /// An entry was added or deleted: the wait for the next one is computed anew.
    pub fn changed(&self) {
        self.changed.notify_one();
    }

    /// Fires entries until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        loop {
            let wait = match self.fire_due(&stop).await {
                Ok(wait) => wait.min(AT_LEAST),
                Err(error) => {
                    tracing::error!(%error, "cron cannot read its entries");
                    AFTER_FAILURE
                }
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.changed.notified() => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Fires what is due; returns how long nothing will be.
    async fn fire_due(self: &Arc<Self>, stop: &CancellationToken) -> Result<Duration> {
        let now = now_ms();
        for row in self.store.cron_due(now).await? {
            let next = row.schedule.parse::<Schedule>().ok().and_then(|schedule| schedule.next_after(now, row.next_ms));
            // A one-time entry stays listed until it was delivered: one that was not must not vanish silently.
            let once = next.is_none();
            if self.store.take_cron(&row, next.unwrap_or(i64::MAX)).await? {
                let (cron, stop) = (Arc::clone(self), stop.clone());
                tokio::spawn(async move { cron.fire(row, once, stop).await });
            }
        }
        let next = self.store.cron_next().await?;
        let wait = next.map_or(i64::MAX, |next| next.saturating_sub(now_ms()).max(0));
        Ok(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
    }

    async fn fire(&self, row: CronRow, once: bool, stop: CancellationToken) {
        let result = match &self.webhook {
            None => "not delivered: the gateway has no --cron-webhook".to_owned(),
            Some(webhook) => {
                let _turn = self.turns.acquire().await;
                tokio::select! {
                    result = webhook.deliver(&row) => result.map_or_else(|why| format!("not delivered: {why}"), |()| "delivered".to_owned()),
                    () = stop.cancelled() => "not delivered: the gateway was stopped".to_owned(),
                }
            }
        };
        let delivered = result == "delivered";
        let counter = if delivered { &self.metrics.delivered } else { &self.metrics.undelivered };
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        tracing::info!(user = row.user_name, id = row.id, result, "cron entry fired");
        let noted = if once && delivered {
            self.store.delete_cron(&row.user_name, &row.id).await.map(|_| ())
        } else {
            self.store.note_cron(&row.id, &result).await
        };
        if let Err(error) = noted {
            tracing::error!(%error, "cannot note what came of a cron entry");
        }
    }
}
