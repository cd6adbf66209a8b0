//! A network that is really cut: the worker lives in a network namespace, and its only cable is pulled.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::gateway_stand::{Agent, Desk, Gateway, PATIENCE, deskhand, eventually, run};

/// A namespace and the cable between it and this one.
struct Cable {
    name: String,
    here: String,
}

fn ip(arguments: &str) -> bool {
    Command::new("ip").args(arguments.split_whitespace()).status().is_ok_and(|status| status.success())
}

impl Cable {
    /// Nothing where that cannot be made: it takes root and iproute2.
    fn lay() -> Option<Self> {
        let id = std::process::id();
        let cable = Self { name: format!("dh{id}"), here: format!("10.{}.{}.1", 160 + (id >> 8) % 64, id & 255) };
        let (name, here, there) = (&cable.name, &cable.here, cable.there());
        let laid = ip(&format!("netns add {name}"))
            && ip(&format!("link add {name}g type veth peer name {name}w netns {name}"))
            && ip(&format!("addr add {here}/30 dev {name}g"))
            && ip(&format!("link set {name}g up"))
            && ip(&format!("-n {name} addr add {there}/30 dev {name}w"))
            && ip(&format!("-n {name} link set lo up"));
        laid.then(|| {
            cable.plug();
            cable
        })
    }

    fn there(&self) -> String {
        format!("{}2", self.here.strip_suffix('1').unwrap())
    }

    fn plug(&self) {
        assert!(ip(&format!("-n {0} link set {0}w up", self.name)));
    }

    fn pull(&self) {
        assert!(ip(&format!("-n {0} link set {0}w down", self.name)));
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        // The cable goes with the namespace once its last process is gone.
        let _gone = ip(&format!("link del {}g", self.name));
        let _gone = ip(&format!("netns del {}", self.name));
    }
}

/// The computer socket, as the running worker tells it.
fn socket(desk: &Desk) -> Value {
    let text = run(deskhand().args(["gateway", "status", "--json", "--state-dir"]).arg(&desk.state), "");
    serde_json::from_str::<Value>(&text).unwrap()["computer"].clone()
}

#[test]
fn a_network_that_is_cut_is_noticed_and_one_that_is_back_is_used_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let Some(cable) = Cable::lay() else {
        crate::support::skipped(
            "no network namespace can be made here (root and iproute2); the gateway crate's tests cut a TCP proxy instead",
        );
        return;
    };
    let gateway = Gateway::start_at(dir.path(), &cable.here);
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &cable.name]).arg(deskhand().get_program());
    command.env_remove("DISPLAY").env_remove("DBUS_SESSION_BUS_ADDRESS");
    let desk = Desk::start_by(dir.path(), &gateway, command);
    let agent = Agent::of(&gateway);
    agent.call("computer_mouse_click", json!({"x": 300, "y": 300})).unwrap();
    eventually("the click", PATIENCE, || desk.clicks(300, 300) == 1);

    cable.pull();
    let during = {
        let agent = agent.clone();
        std::thread::spawn(move || agent.call("computer_mouse_click", json!({"x": 400, "y": 400})).is_ok())
    };
    eventually("noticed", Duration::from_secs(45), || socket(&desk)["state"] == "connecting");
    // From the seventh try on the wait for the next one is longer than the time that is allowed below.
    eventually("tries are far apart", PATIENCE * 2, || socket(&desk)["tries"].as_u64() >= Some(7));
    cable.plug();
    let plugged = Instant::now();
    eventually("connected again", Duration::from_secs(14), || socket(&desk)["state"] == "connected");
    eprintln!("connected {:?} after the network was back", plugged.elapsed());

    let done = during.join().unwrap();
    eventually("it works again", PATIENCE, || agent.call("computer_mouse_click", json!({"x": 500, "y": 500})).is_ok());
    eventually("the witness saw it", PATIENCE, || desk.clicks(500, 500) >= 1);
    // Clicks come in their order: one that was asked for without a network is there by now, or it never will be.
    assert_eq!(desk.clicks(400, 400), usize::from(done), "done and told so, or neither");
}
