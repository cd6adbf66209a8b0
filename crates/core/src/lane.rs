//! Lanes: what two calls must not do at the same time. One for the desktop, one per browser tab, none for files.
//!
//! A lane is first come, first served. Keys and buttons that stay down between calls keep the desktop lane for their
//! caller: others wait until they are up again, or until they have been idle for [`HOLD`] and are released.

use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// How long input held across calls may stay idle before it is released.
pub(crate) const HOLD: Duration = Duration::from_secs(10);

/// What a call must not share with another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Nothing: it may run beside any other call.
    None,
    /// Pointer, keyboard and clipboard.
    Desktop,
    /// One browser tab, by a name that no other tab ever has.
    Tab(String),
}

#[derive(Default)]
struct Queue {
    busy: bool,
    /// The conversation that keeps the lane between its calls, and how often that was renewed.
    kept: Option<(String, u64)>,
    waiting: VecDeque<(u64, String)>,
    next: u64,
}

impl Queue {
    fn admits(&self, ticket: u64) -> bool {
        let may = |scope: &str| self.kept.as_ref().is_none_or(|(kept, _)| kept == scope);
        !self.busy && self.waiting.iter().find(|(_, scope)| may(scope)).is_some_and(|(t, _)| *t == ticket)
    }
}

#[derive(Default)]
struct Shared {
    queues: Mutex<HashMap<Lane, Queue>>,
    freed: Notify,
}

/// All lanes of a worker.
#[derive(Clone, Default)]
pub(crate) struct Lanes(Arc<Shared>);

/// A place in a lane; leaving it lets the next one in.
pub(crate) struct Place {
    shared: Arc<Shared>,
    lane: Lane,
    scope: String,
}

/// A wait that is given up leaves the queue.
struct Ticket<'a> {
    shared: &'a Shared,
    lane: &'a Lane,
    number: u64,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut queues = self.shared.queues.lock();
        if let Some(queue) = queues.get_mut(self.lane) {
            queue.waiting.retain(|(t, _)| *t != self.number);
            tidy(&mut queues, self.lane);
        }
        self.shared.freed.notify_waiters();
    }
}

fn tidy(queues: &mut HashMap<Lane, Queue>, lane: &Lane) {
    if queues.get(lane).is_some_and(|q| !q.busy && q.kept.is_none() && q.waiting.is_empty()) {
        queues.remove(lane);
    }
}

impl Lanes {
    /// Waits for the lane. Dropping the future leaves the queue.
    pub(crate) async fn enter(&self, lane: Lane, scope: &str) -> Option<Place> {
        if lane == Lane::None {
            return None;
        }
        let shared = &self.0;
        let number = {
            let mut queues = shared.queues.lock();
            let queue = queues.entry(lane.clone()).or_default();
            queue.next += 1;
            let number = queue.next;
            queue.waiting.push_back((number, scope.to_owned()));
            number
        };
        let ticket = Ticket { shared, lane: &lane, number };
        loop {
            let freed = shared.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            {
                let mut queues = shared.queues.lock();
                if let Some(queue) = queues.get_mut(&lane)
                    && queue.admits(number)
                {
                    queue.busy = true;
                    break;
                }
            }
            freed.await;
        }
        drop(ticket);
        Some(Place { shared: Arc::clone(shared), lane: lane.clone(), scope: scope.to_owned() })
    }
}

impl Lanes {
    /// The desktop lane, if it is kept for this conversation.
    pub(crate) async fn enter_kept(&self, scope: &str) -> Option<Place> {
        let kept = self.0.queues.lock().get(&Lane::Desktop).and_then(|q| q.kept.as_ref()).is_some_and(|(kept, _)| kept == scope);
        if kept { self.enter(Lane::Desktop, scope).await } else { None }
    }
}

impl Place {
    /// Keeps the lane for this conversation after the call, or no longer. Returns the number of the renewal.
    pub(crate) fn keep(&self, keep: bool) -> u64 {
        let mut queues = self.shared.queues.lock();
        let Some(queue) = queues.get_mut(&self.lane) else { return 0 };
        let renewal = queue.kept.as_ref().map_or(0, |(_, n)| *n) + 1;
        queue.kept = keep.then(|| (self.scope.clone(), renewal));
        renewal
    }

    /// The number of the renewal for which the lane is kept; `None` when it is not.
    pub(crate) fn renewal(&self) -> Option<u64> {
        self.shared.queues.lock().get(&self.lane)?.kept.as_ref().map(|(_, n)| *n)
    }

    /// Whether it is the desktop's.
    pub(crate) fn is_desktop(&self) -> bool {
        self.lane == Lane::Desktop
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut queues = self.shared.queues.lock();
        if let Some(queue) = queues.get_mut(&self.lane) {
            queue.busy = false;
            tidy(&mut queues, &self.lane);
        }
        drop(queues);
        self.shared.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future + ?Sized>(f: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        f.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_lane_is_first_come_first_served_and_an_abandoned_wait_leaves_it() {
        let lanes = Lanes::default();
        let Poll::Ready(Some(first)) = poll(pin!(lanes.enter(Lane::Desktop, "a"))) else { panic!("free") };
        let mut second = Box::pin(lanes.enter(Lane::Desktop, "b"));
        let mut third = Box::pin(lanes.enter(Lane::Desktop, "c"));
        assert!(poll(second.as_mut()).is_pending() && poll(third.as_mut()).is_pending());
        drop(first);
        assert!(poll(third.as_mut()).is_pending(), "c came after b");
        drop(second);
        assert!(poll(third.as_mut()).is_ready());
    }

    #[test]
    fn held_input_keeps_the_lane_for_its_caller() {
        let lanes = Lanes::default();
        let Poll::Ready(Some(place)) = poll(pin!(lanes.enter(Lane::Desktop, "a"))) else { panic!("free") };
        let renewal = place.keep(true);
        drop(place);
        let mut other = Box::pin(lanes.enter(Lane::Desktop, "b"));
        assert!(poll(other.as_mut()).is_pending());
        let Poll::Ready(Some(own)) = poll(pin!(lanes.enter(Lane::Desktop, "a"))) else { panic!("its own caller goes on") };
        assert_eq!(own.renewal(), Some(renewal));
        own.keep(false);
        drop(own);
        assert!(poll(other.as_mut()).is_ready());
    }

    #[test]
    fn tabs_do_not_wait_for_each_other() {
        let lanes = Lanes::default();
        let Poll::Ready(Some(_one)) = poll(pin!(lanes.enter(Lane::Tab("1".into()), "a"))) else { panic!("free") };
        assert!(poll(pin!(lanes.enter(Lane::Tab("2".into()), "b"))).is_ready());
        assert!(poll(pin!(lanes.enter(Lane::None, "b"))).is_ready());
    }
}
