//! What networks and peers do: cut, freeze, go silent, talk nonsense. The desk counts what really ran.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deskhand_executor::SocketState;
use futures_util::StreamExt;
use serde_json::json;

use crate::house::{CountingDesk, House, Peer, connected, eventually, executor, until};
use crate::proxy::Proxy;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cuts_under_load_run_nothing_twice_and_leave_no_call_without_answer() {
    let house = Arc::new(House::new().await);
    let token = house.user("ana").await;
    let proxy = Proxy::to(&house.url).await;
    let desk = Arc::new(CountingDesk::default());
    let executor = executor(&proxy.url, &token, &desk);
    connected(&executor).await;
    let callers: Vec<_> = (0..8_u64)
        .map(|caller| {
            let (house, token) = (Arc::clone(&house), token.clone());
            tokio::spawn(async move {
                let mut answered = 0;
                for number in 0..40 {
                    let n = 1 + caller * 1_000 + number;
                    let (text, is_error) = house.call(&token, "computer_click", json!({"n": n, "ms": 20})).await;
                    if !is_error {
                        assert_eq!(text, format!("done {n}"), "answers are not crossed");
                        answered += 1;
                    }
                    tokio::time::sleep(Duration::from_millis(30)).await;
                }
                answered
            })
        })
        .collect();
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        proxy.cut();
    }
    let mut answered = 0;
    for caller in callers {
        answered += caller.await.unwrap();
    }
    assert_eq!(desk.most(), 1, "nothing twice");
    assert!(answered >= 40, "most of the time it works: {answered}");
    connected(&executor).await;
}

#[tokio::test]
async fn a_call_that_lost_its_socket_is_answered_once_the_executor_is_back() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let proxy = Proxy::to(&house.url).await;
    let desk = Arc::new(CountingDesk::default());
    let executor = executor(&proxy.url, &token, &desk);
    connected(&executor).await;
    // The frame goes out, the answer does not come back.
    eventually("hello exchanged", async || house.names(&token, "computer").await.len() == 4).await;
    let cut = async {
        eventually("runs", async || desk.count(5) == 1).await;
        proxy.hold();
        tokio::time::sleep(Duration::from_millis(600)).await;
        proxy.cut();
        proxy.release();
    };
    let ((text, is_error), ()) = tokio::join!(house.call(&token, "computer_slow", json!({"n": 5, "ms": 300})), cut);
    assert_eq!((text.as_str(), is_error), ("done 5", false), "the result of the one run");
    assert_eq!(desk.count(5), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_dies_is_found_again() {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let house = House::at(Arc::clone(&dir), &[]).await;
    let token = house.user("ana").await;
    let address = house.running.as_ref().unwrap().address.to_string();
    let executor = executor(&house.url, &token, &Arc::new(CountingDesk::default()));
    connected(&executor).await;
    house.stop().await;
    until(&executor, "lost", |status| matches!(status.computer, SocketState::Connecting { .. })).await;
    assert!(executor.status().last_error.is_some());
    let house = House::at(dir, &["--listen", &address]).await;
    connected(&executor).await;
    let (text, _) = house.call(&token, "computer_click", json!({"n": 1})).await;
    assert_eq!(text, "done 1");
    assert_eq!(executor.status().last_error, None);
}

#[tokio::test]
async fn a_frozen_gateway_is_noticed_within_45_seconds() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let proxy = Proxy::to(&house.url).await;
    let executor = executor(&proxy.url, &token, &Arc::new(CountingDesk::default()));
    connected(&executor).await;
    proxy.hold();
    let began = Instant::now();
    until(&executor, "noticed", |status| matches!(status.computer, SocketState::Connecting { .. })).await;
    assert!(began.elapsed() < Duration::from_secs(45), "{:?}", began.elapsed());
    assert!(executor.status().last_error.is_some());
    proxy.cut();
    proxy.release();
    connected(&executor).await;
}

#[tokio::test]
async fn a_second_desk_takes_over_and_the_first_stops() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let (one, two) = (Arc::new(CountingDesk::default()), Arc::new(CountingDesk::default()));
    let first = executor(&house.url, &token, &one);
    connected(&first).await;
    let second = executor(&house.url, &token, &two);
    connected(&second).await;
    until(&first, "replaced", |status| status.computer == SocketState::Replaced && status.browser == SocketState::Replaced).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(matches!(second.status().computer, SocketState::Connected { .. }), "no fight");
    house.call(&token, "computer_click", json!({"n": 1})).await;
    assert_eq!((one.count(1), two.count(1)), (0, 1));
}

#[tokio::test]
async fn a_reset_token_ends_the_executor() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let executor = executor(&house.url, &token, &Arc::new(CountingDesk::default()));
    connected(&executor).await;
    house.gateway().reset_token("ana").await.unwrap();
    until(&executor, "told", |status| {
        status.server.is_none() && status.last_error.as_ref().is_some_and(|error| error.contains("does not accept the token"))
    })
    .await;
}

#[tokio::test]
async fn ten_megabytes_pass_and_nonsense_harms_nobody() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let mut peer = Peer::connect(&house, "computer", &token).await;
    for noise in ["", "null", "[1]", "{\"id\":1}", "{\"id\":99,\"result\":5}", "{\"hello\":5}", "{\"id\":\"1\",\"result\":5}"] {
        peer.send(noise).await;
    }
    let script = async {
        let frame = peer.frame().await;
        peer.send(json!({"id": frame["id"], "result": "z".repeat(10_000_000)}).to_string()).await;
        peer.send(json!({"id": frame["id"], "result": "a duplicate"}).to_string()).await;
    };
    let (answer, ()) = tokio::join!(house.call(&token, "computer_x", json!({})), script);
    assert_eq!(answer.0.len(), 10_000_000);
    let script = async {
        let frame = peer.frame().await;
        peer.send(json!({"id": 1, "result": "late"}).to_string()).await;
        peer.send(json!({"id": frame["id"], "result": "right"}).to_string()).await;
    };
    let (answer, ()) = tokio::join!(house.call(&token, "computer_x", json!({})), script);
    assert_eq!(answer.0, "right");
}

#[tokio::test]
async fn a_call_is_given_up_after_30_seconds_and_its_late_answer_is_dropped() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let mut peer = Peer::connect(&house, "computer", &token).await;
    let began = Instant::now();
    let silent = async { peer.frame().await };
    let ((text, is_error), frame) = tokio::join!(house.call(&token, "computer_x", json!({})), silent);
    assert!(is_error && text.contains("30 s"), "{text}");
    assert!((29..40).contains(&began.elapsed().as_secs()));
    let script = async {
        peer.send(json!({"id": frame["id"], "result": "late"}).to_string()).await;
        let next = peer.frame().await;
        peer.send(json!({"id": next["id"], "result": "in time"}).to_string()).await;
    };
    let (answer, ()) = tokio::join!(house.call(&token, "computer_x", json!({})), script);
    assert_eq!(answer.0, "in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_executor_that_does_not_read_hurts_only_itself() {
    let house = Arc::new(House::new().await);
    let (ana, bob) = (house.user("ana").await, house.user("bob").await);
    let slow = Peer::connect(&house, "computer", &ana).await;
    let desk = Arc::new(CountingDesk::default());
    let executor = executor(&house.url, &bob, &desk);
    connected(&executor).await;
    let padding = "p".repeat(900_000);
    let stuck: Vec<_> = (0..40)
        .map(|_| {
            let (house, ana, padding) = (Arc::clone(&house), ana.clone(), padding.clone());
            tokio::spawn(async move { house.call(&ana, "computer_x", json!({"padding": padding})).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    for n in 1..=50 {
        let began = Instant::now();
        assert_eq!(house.call(&bob, "computer_click", json!({"n": n})).await.0, format!("done {n}"));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
    for call in stuck {
        assert!(call.await.unwrap().1, "each of them is answered, with an error");
    }
    let (mut socket, mut frames) = (slow.0, 0);
    while let Ok(Some(Ok(_))) = tokio::time::timeout(Duration::from_secs(5), socket.next()).await {
        frames += 1;
    }
    assert!(frames < 40, "what nobody waits for any more is not sent: {frames}");
}

#[tokio::test]
async fn sockets_follow_the_authorisation() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let desk: Arc<dyn deskhand_executor::Desk> = Arc::new(CountingDesk::default());
    let source = deskhand_executor::Source::Fixed {
        address: deskhand_executor::Address::parse(&house.url).unwrap(),
        token: deskhand_executor::Token::new(token.as_str()),
        ca: None,
        state_dir: None,
    };
    let (on, authorised) = tokio::sync::watch::channel(false);
    let (_tools, changes) = tokio::sync::watch::channel(0);
    let executor = deskhand_executor::Executor::start(desk, source, authorised, changes);
    until(&executor, "signed in", |status| status.server.is_some()).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(house.gateway().hub.connected(), 0, "not before AI control is authorised");
    on.send_replace(true);
    connected(&executor).await;
    on.send_replace(false);
    eventually("closed", async || house.gateway().hub.connected() == 0).await;
    let (text, is_error) = house.call(&token, "computer_click", json!({})).await;
    assert!(is_error && text.contains("not connected"));
    on.send_replace(true);
    connected(&executor).await;
    executor.stop().await;
    eventually("closed", async || house.gateway().hub.connected() == 0).await;
}
