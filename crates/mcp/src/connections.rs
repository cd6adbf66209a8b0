//! Which connections are open, and which of them goes when there are too many.
//!
//! A limit that turns the newest away lets anybody who opens idle connections shut the door on the owner. So the one that
//! has been idle longest goes; only when every connection is at work is a new one refused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// One connection's state, shared with the list.
#[derive(Debug)]
struct Seat {
    at_work: AtomicUsize,
    idle_since: Mutex<Instant>,
    leave: CancellationToken,
}

type Seats = Arc<Mutex<BTreeMap<u64, Arc<Seat>>>>;

/// All connections of one listener.
#[derive(Debug)]
pub(crate) struct Connections {
    seats: Seats,
    limit: usize,
    next: u64,
}

/// A connection's place; given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    number: u64,
    seat: Arc<Seat>,
    seats: Seats,
}

/// A request under way on a connection, down to the last byte of its answer.
#[derive(Debug)]
pub(crate) struct AtWork(Arc<Seat>);

impl Connections {
    pub(crate) fn new(limit: usize) -> Self {
        Self { seats: Arc::default(), limit, next: 0 }
    }

    /// A place for a new connection; `None` when all others are at work.
    pub(crate) fn enter(&mut self) -> Option<Place> {
        let mut seats = self.seats.lock();
        if seats.len() >= self.limit {
            let idle = seats.iter().filter(|(_, seat)| seat.at_work.load(Ordering::Relaxed) == 0);
            let longest = idle.min_by_key(|(_, seat)| *seat.idle_since.lock()).map(|(number, _)| *number)?;
            if let Some(seat) = seats.remove(&longest) {
                seat.leave.cancel();
            }
        }
        self.next += 1;
        let seat = Arc::new(Seat { at_work: AtomicUsize::new(0), idle_since: Mutex::new(Instant::now()), leave: CancellationToken::new() });
        seats.insert(self.next, Arc::clone(&seat));
        Some(Place { number: self.next, seat, seats: Arc::clone(&self.seats) })
    }
}

impl Place {
    /// Comes true when another connection needs the place more.
    pub(crate) async fn given_up(&self) {
        self.seat.leave.cancelled().await;
    }

    /// Marks a request on this connection.
    pub(crate) fn work(&self) -> AtWork {
        self.seat.at_work.fetch_add(1, Ordering::Relaxed);
        AtWork(Arc::clone(&self.seat))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.seats.lock().remove(&self.number);
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        *self.0.idle_since.lock() = Instant::now();
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_longest_idle_one_goes_and_none_at_work() {
        let mut connections = Connections::new(3);
        let first = connections.enter().unwrap();
        let second = connections.enter().unwrap();
        let third = connections.enter().unwrap();
        let working = first.work();
        let fourth = connections.enter().unwrap();
        second.given_up().await;
        assert!(!first.seat.leave.is_cancelled() && !third.seat.leave.is_cancelled());
        let all = [third.work(), fourth.work()];
        assert!(connections.enter().is_none(), "all at work");
        drop(working);
        assert!(connections.enter().is_some());
        first.given_up().await;
        drop(all);
    }
}
