//! Counters for `/metrics`, in Prometheus' text format. No names of users or servers: the page is open to scrapers.

use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds of the duration histogram, in seconds.
const BOUNDS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0, 15.0, 30.0];
/// How a call can end, as labelled.
pub(crate) const ENDINGS: [&str; 7] = ["ok", "error", "not connected", "timed out", "lost", "busy", "cancelled"];

/// The gateway's counters.
#[derive(Debug, Default)]
pub struct Metrics {
    endings: [AtomicU64; ENDINGS.len()],
    buckets: [AtomicU64; BOUNDS.len()],
    micros: AtomicU64,
    calls: AtomicU64,
    /// Requests of every kind.
    pub(crate) requests: AtomicU64,
    /// Successful sign-ins.
    pub(crate) logins: AtomicU64,
    /// Refused sign-ins.
    pub(crate) refused_logins: AtomicU64,
    /// Executor sockets accepted since start.
    pub(crate) sockets: AtomicU64,
    /// Cron entries delivered.
    pub(crate) delivered: AtomicU64,
    /// Cron entries given up.
    pub(crate) undelivered: AtomicU64,
    /// Open SSE streams.
    pub(crate) streams: AtomicI64,
    /// Open TCP connections.
    pub(crate) connections: AtomicI64,
}

impl Metrics {
    /// Counts a call.
    pub(crate) fn call(&self, ending: &str, took: Duration) {
        if let Some(index) = ENDINGS.iter().position(|name| *name == ending) {
            self.endings[index].fetch_add(1, Relaxed);
        }
        let seconds = took.as_secs_f64();
        for (bound, bucket) in BOUNDS.iter().zip(&self.buckets) {
            if seconds <= *bound {
                bucket.fetch_add(1, Relaxed);
            }
        }
        self.calls.fetch_add(1, Relaxed);
        self.micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    /// The text; `executors` are (service, connected) pairs.
    pub(crate) fn text(&self, executors: &[(&str, usize)]) -> String {
        let mut out = String::new();
        out.push_str("# HELP deskhand_executors Connected executors.\n# TYPE deskhand_executors gauge\n");
        for (service, count) in executors {
            let _ = writeln!(out, "deskhand_executors{{service=\"{service}\"}} {count}");
        }
        out.push_str("# HELP deskhand_calls_total Tool calls by how they ended.\n# TYPE deskhand_calls_total counter\n");
        for (name, count) in ENDINGS.iter().zip(&self.endings) {
            let _ = writeln!(out, "deskhand_calls_total{{ending=\"{name}\"}} {}", count.load(Relaxed));
        }
        out.push_str("# HELP deskhand_call_seconds Duration of tool calls.\n# TYPE deskhand_call_seconds histogram\n");
        for (bound, bucket) in BOUNDS.iter().zip(&self.buckets) {
            let _ = writeln!(out, "deskhand_call_seconds_bucket{{le=\"{bound}\"}} {}", bucket.load(Relaxed));
        }
        let calls = self.calls.load(Relaxed);
        let seconds = Duration::from_micros(self.micros.load(Relaxed)).as_secs_f64();
        let _ = writeln!(out, "deskhand_call_seconds_bucket{{le=\"+Inf\"}} {calls}");
        let _ = writeln!(out, "deskhand_call_seconds_sum {seconds}\ndeskhand_call_seconds_count {calls}");
        let counters = [
            ("requests_total", "HTTP requests.", &self.requests),
            ("logins_total", "Successful sign-ins.", &self.logins),
            ("logins_refused_total", "Refused sign-ins.", &self.refused_logins),
            ("executor_sockets_total", "Executor sockets accepted.", &self.sockets),
            ("cron_delivered_total", "Cron entries delivered.", &self.delivered),
            ("cron_undelivered_total", "Cron entries given up.", &self.undelivered),
        ];
        for (name, help, value) in counters {
            let _ = writeln!(out, "# HELP deskhand_{name} {help}\n# TYPE deskhand_{name} counter\ndeskhand_{name} {}", value.load(Relaxed));
        }
        for (name, help, value) in
            [("sse_streams", "Open SSE streams.", &self.streams), ("connections", "Open TCP connections.", &self.connections)]
        {
            let _ = writeln!(out, "# HELP deskhand_{name} {help}\n# TYPE deskhand_{name} gauge\ndeskhand_{name} {}", value.load(Relaxed));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_prometheus() {
        let metrics = Metrics::default();
        metrics.call("ok", Duration::from_millis(3));
        metrics.call("timed out", Duration::from_secs(30));
        let text = metrics.text(&[("computer", 2)]);
        for line in [
            "deskhand_executors{service=\"computer\"} 2",
            "deskhand_calls_total{ending=\"ok\"} 1",
            "deskhand_calls_total{ending=\"timed out\"} 1",
            "deskhand_call_seconds_bucket{le=\"0.0025\"} 0",
            "deskhand_call_seconds_bucket{le=\"0.005\"} 1",
            "deskhand_call_seconds_bucket{le=\"+Inf\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        assert!(samples.clone().all(|line| line.rsplit_once(' ').is_some_and(|(_, value)| value.parse::<f64>().is_ok())));
    }
}
