//! Notices that the network came back, so that a wait for the next try can end at once.

use std::time::Duration;

/// How often the routes are looked at, and only while a wait is on.
const LOOK_EVERY: Duration = Duration::from_millis(700);

/// Returns when the machine's routes differ from what they were at the call. Never returns where they cannot be read.
pub(crate) async fn changed() {
    let before = routes();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = routes();
        if now.is_some() && now != before {
            return;
        }
        if now.is_none() {
            std::future::pending::<()>().await;
        }
    }
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
