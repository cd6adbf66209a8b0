//! The gateway and the executor against each other and against scripted peers, in one process, with a desk that only
//! counts. What needs the real binary or a real desktop is in the root package's tests.
#![allow(missing_docs, unreachable_pub, reason = "a test binary has no public")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod accounts;
mod attacks;
mod contract;
mod cron;
mod executor;
mod faults;
mod house;
mod keyring;
mod legacy;
mod modern;
mod page;
mod postgres;
mod proxy;
mod servers;

/// Says that a test is left out, and why. Past the test harness, which keeps to itself what a passing test prints.
pub fn skipped(why: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED: {why}\n").as_bytes());
}
