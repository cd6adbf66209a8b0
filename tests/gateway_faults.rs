//! Crashes and frozen peers around a real desktop. The witness counts what arrived: nothing twice, nothing late.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::gateway_stand::{Agent, Desk, Gateway, PATIENCE, Process, deskhand, eventually, run};

/// A place of its own for each number.
fn place(number: u64) -> (u64, u64) {
    (100 + number % 1_000, 100 + number / 1_000)
}

/// The witness must have seen nothing new for this long before its count is taken as the last.
const QUIET: Duration = Duration::from_secs(2);

/// How often the gateway is killed: as often as fits into the time, but not less than a few times. With
/// `DESKHAND_TEST_KILLS` exactly so often, however long it takes.
const KILLS: std::ops::RangeInclusive<u64> = 5..=20;
const KILLS_WITHIN: Duration = Duration::from_secs(25);

fn count_lines(desk: &Desk) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for line in desk.seen() {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

fn count_of(counts: &HashMap<String, usize>, number: u64) -> usize {
    let (x, y) = place(number);
    counts.get(&format!("button 1 {x} {y}")).copied().unwrap_or(0)
}

/// Agents that click at ever new places until told to stop; which of the calls were answered as done.
struct Load {
    stop: Arc<AtomicBool>,
    next: Arc<AtomicU64>,
    done: Arc<Mutex<Vec<u64>>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn start(agent: &Agent, callers: usize) -> Self {
        let (stop, next, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(1)), Arc::new(Mutex::new(Vec::new())));
        let threads = (0..callers)
            .map(|_| {
                let (agent, stop, next, done) = (agent.clone(), Arc::clone(&stop), Arc::clone(&next), Arc::clone(&done));
                std::thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let (x, y) = place(number);
                        match agent.call("computer_mouse_click", json!({"x": x, "y": y})) {
                            Ok(_) => done.lock().unwrap().push(number),
                            Err(_) => std::thread::sleep(Duration::from_millis(50)),
                        }
                    }
                })
            })
            .collect();
        Self { stop, next, done, threads }
    }

    /// Ends the load and asks the witness, once it saw all that was answered as done and then nothing more for a while.
    fn judge(self, desk: &Desk) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        let done = self.done.lock().unwrap();
        let mut counts = HashMap::new();
        let mut quiet = Instant::now();
        eventually("the witness saw all that was done", PATIENCE, || {
            let now = count_lines(desk);
            if now != counts {
                (counts, quiet) = (now, Instant::now());
            }
            quiet.elapsed() > QUIET && done.iter().all(|number| count_of(&counts, *number) > 0)
        });
        let count = |number| count_of(&counts, number);
        for number in 1..self.next.load(Ordering::Relaxed) {
            assert!(count(number) <= 1, "click {number} arrived {} times", count(number));
        }
        for number in done.iter() {
            assert_eq!(count(*number), 1, "click {number} was answered as done");
        }
        done.len()
    }
}

#[test]
fn a_gateway_killed_again_and_again_under_load_clicks_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start(dir.path());
    let desk = Desk::start(dir.path(), &gateway);
    let agent = Agent::of(&gateway);
    let load = Load::start(&agent, 4);
    let asked = std::env::var("DESKHAND_TEST_KILLS").ok().map(|text| text.parse::<u64>().unwrap());
    let (least, most) = asked.map_or((*KILLS.start(), *KILLS.end()), |exactly| (exactly, exactly));
    let began = Instant::now();
    let mut kills = 0;
    while kills < most && (kills < least || began.elapsed() < KILLS_WITHIN) {
        eventually("connected", PATIENCE, || agent.is_connected());
        let before = load.done.lock().unwrap().len();
        eventually("the load goes through", PATIENCE, || load.done.lock().unwrap().len() > before + 2);
        // The moment of the kill wanders through the life of a call.
        std::thread::sleep(Duration::from_millis(13 * (kills * 7 % 20)));
        gateway.crash_and_restart();
        kills += 1;
    }
    eventually("connected", PATIENCE, || agent.is_connected());
    let done = load.judge(&desk);
    assert!(done > 2 * usize::try_from(kills).unwrap(), "{done}");
    eprintln!("killed {kills} times in {:?}, {done} clicks done", began.elapsed());
}

#[test]
fn a_worker_killed_under_load_clicks_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(dir.path());
    let agent = Agent::of(&gateway);
    for _ in 0..2 {
        let mut desk = Desk::start(dir.path(), &gateway);
        let load = Load::start(&agent, 4);
        eventually("the load goes through", PATIENCE, || load.done.lock().unwrap().len() > 5);
        desk.worker.signal("-KILL");
        eventually("the gateway noticed", PATIENCE, || !agent.is_connected());
        load.judge(&desk);
        desk.worker.kill();
    }
}

/// Stops a process, and waits until each of its threads really stands still: the signal is only a request, and a busy
/// machine may let them run on, and carry out a call in good time.
fn freeze(process: &Process) {
    process.signal("-STOP");
    let tasks = format!("/proc/{}/task", process.pid());
    eventually("every thread stopped", PATIENCE, || {
        std::fs::read_dir(&tasks).unwrap().all(|task| {
            let stat = std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
        })
    });
}

#[test]
fn a_worker_that_was_frozen_runs_nothing_late() {
    let dir = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(dir.path());
    let desk = Desk::start(dir.path(), &gateway);
    let agent = Agent::of(&gateway);
    freeze(&desk.worker);
    let calls: Vec<_> = (1..=3)
        .map(|number| {
            let agent = agent.clone();
            let (x, y) = place(number);
            std::thread::spawn(move || agent.call("computer_mouse_click", json!({"x": x, "y": y})))
        })
        .collect();
    std::thread::sleep(Duration::from_secs(9));
    desk.worker.signal("-CONT");
    for call in calls {
        let refused = call.join().unwrap().unwrap_err();
        assert!(refused.contains("not run"), "{refused}");
    }
    eventually("afterwards it works", PATIENCE, || agent.call("computer_mouse_click", json!({"x": 700, "y": 700})).is_ok());
    eventually("the witness saw it", PATIENCE, || desk.clicks(700, 700) >= 1);
    // The witness sees clicks in their order: an old one would be there by now.
    for number in 1..=3 {
        let (x, y) = place(number);
        assert_eq!(desk.clicks(x, y), 0, "a click that was nine seconds old");
    }
}

#[test]
fn a_frozen_gateway_is_noticed_within_45_seconds_and_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(dir.path());
    let desk = Desk::start(dir.path(), &gateway);
    let status = || run(deskhand().args(["gateway", "status", "--json", "--state-dir"]).arg(&desk.state), "");
    let connected = |times: usize| status().matches("\"connected\"").count() == times;
    eventually("both sockets are connected", PATIENCE, || connected(2));
    let began = Instant::now();
    gateway.process.signal("-STOP");
    eventually("noticed", Duration::from_secs(45), || connected(0));
    assert!(began.elapsed() > Duration::from_secs(5), "not before there was a reason");
    gateway.process.signal("-CONT");
    let agent = Agent::of(&gateway);
    eventually("found again", PATIENCE, || agent.is_connected() && connected(2));
}
