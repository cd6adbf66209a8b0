//! What is held comes up on every way out: by the caller, after ten idle seconds, at Stop, at the end, after a kill.

use serde_json::json;

use crate::support::hand::{CONTROL, Hand};
use crate::support::server::Server;
use crate::support::worker::{Answer, Worker};

const LEFT: u16 = 256;

async fn act(worker: &Worker, action: serde_json::Value) -> Answer {
    worker.call("browser_gui_execute_action", json!({ "action": action })).await
}

async fn hold(worker: &Worker, hand: &Hand) {
    act(worker, json!({"action_type": "KEY_DOWN", "key": "ctrl"})).await.success();
    act(worker, json!({"action_type": "MOUSE_DOWN"})).await.success();
    hand.wait_held(&[CONTROL], LEFT);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_caller_lets_go_and_idleness_does() {
    let server = Server::managed("800x600x24");
    let (worker, hand) = (Worker::on(server.name()).await, Hand::on(server.name()));
    hold(&worker, &hand).await;
    act(&worker, json!({"action_type": "KEY_UP", "key": "Control"})).await.success();
    act(&worker, json!({"action_type": "MOUSE_UP"})).await.success();
    hand.wait_held(&[], 0);
    hold(&worker, &hand).await;
    hand.wait_held(&[], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_told_to_end_lets_go() {
    let server = Server::managed("800x600x24");
    let hand = Hand::on(server.name());
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let mut worker = Worker::on(server.name()).await;
        hold(&worker, &hand).await;
        worker.signal(signal);
        worker.child.wait().await.unwrap();
        hand.wait_held(&[], 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_the_next_start_lets_go() {
    let server = Server::managed("800x600x24");
    let hand = Hand::on(server.name());
    let worker = Worker::on(server.name()).await;
    hold(&worker, &hand).await;
    let folder = worker.into_folder().await;
    hand.wait_held(&[CONTROL], LEFT);
    let _again = Worker::again(Some(server.name()), &["--authorize", "all"], folder).await;
    hand.wait_held(&[], 0);
}
