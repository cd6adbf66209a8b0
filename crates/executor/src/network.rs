//! Notices that the network came back or became another, so that a wait for the next try can end at once, and a socket
//! that the change may have cut is asked for a sign of life.

use std::time::Duration;

/// How often the routes are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(700);

/// Returns when the machine's routes or links differ from what they were at the call. Never returns where they cannot be
/// read.
pub(crate) async fn changed() {
    let mut watch = Watch::new();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if watch.changed() {
            return;
        }
    }
}

/// Remembers what the network looked like.
#[derive(Debug)]
pub(crate) struct Watch(Option<State>);

impl Watch {
    pub(crate) fn new() -> Self {
        Self(state())
    }

    /// Whether it looks otherwise than at the last look.
    pub(crate) fn changed(&mut self) -> bool {
        let now = state();
        let changed = now != self.0;
        self.0 = now;
        changed
    }
}

type State = (Vec<String>, Vec<String>);

/// Routes, and for each network device whether its cable or radio is up: a route outlives a lost carrier.
fn state() -> Option<State> {
    let routes = routes()?;
    let entries = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let mut links: Vec<String> = entries
        .filter_map(|entry| {
            let state = std::fs::read_to_string(entry.path().join("operstate")).ok()?;
            Some(format!("{} {}", entry.file_name().to_string_lossy(), state.trim()))
        })
        // Devices that come and go without a carrier of their own say nothing about the way to the gateway.
        .filter(|link| link.ends_with(" up") || link.ends_with(" down"))
        .collect();
    links.sort();
    Some((routes, links))
}

/// The routes without their use counters.
fn routes() -> Option<Vec<String>> {
    let v4 = std::fs::read_to_string("/proc/net/route").ok()?;
    let v6 = std::fs::read_to_string("/proc/net/ipv6_route").unwrap_or_default();
    let four = v4.lines().skip(1).map(|line| line.split_whitespace().take(4).collect::<Vec<_>>().join(" "));
    let six = v6.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        Some(format!("{} {} {}", fields.first()?, fields.get(4)?, fields.last()?))
    });
    let mut all: Vec<String> = four.chain(six).collect();
    all.sort();
    all.dedup();
    Some(all)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn steady_routes_are_no_change() {
        assert!(routes().is_some());
        assert!(tokio::time::timeout(Duration::from_secs(2), changed()).await.is_err());
    }
}
