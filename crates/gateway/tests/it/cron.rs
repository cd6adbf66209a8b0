//! Cron, skills, folders: the platform tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::house::{House, eventually};

type Receiver = (Arc<AtomicU32>, mpsc::UnboundedSender<(String, Value)>);

/// A webhook that fails the first two times.
async fn receiver() -> (String, mpsc::UnboundedReceiver<(String, Value)>) {
    let (sender, received) = mpsc::unbounded_channel();
    let take = |State((tries, sender)): State<Receiver>, headers: HeaderMap, body: String| async move {
        if tries.fetch_add(1, Ordering::SeqCst) < 1 {
            return StatusCode::INTERNAL_SERVER_ERROR;
        }
        let signature = headers["x-deskhand-signature"].to_str().unwrap().to_owned();
        sender.send((signature, serde_json::from_str(&body).unwrap())).unwrap();
        StatusCode::NO_CONTENT
    };
    let router = Router::new().route("/hook", post(take)).with_state((Arc::new(AtomicU32::new(0)), sender));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, received)
}

fn inner(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn an_entry_without_a_webhook_says_so_when_it_is_created() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let (text, is_error) = house.call(&token, "picoaide_cron_create", json!({"schedule": "cron 0 9 * * 1", "prompt": "look"})).await;
    assert!(!is_error && inner(&text)["warning"].as_str().unwrap().contains("--cron-webhook"), "{text}");
    for schedule in ["cron 99 * * * *", "every 5", "at 1000", "sometimes"] {
        let (text, is_error) = house.call(&token, "picoaide_cron_create", json!({"schedule": schedule, "prompt": "x"})).await;
        assert!(is_error, "{schedule}: {text}");
    }
    let (text, _) = house.call(&token, "picoaide_cron_list", json!({})).await;
    let id = inner(&text)["entries"][0]["id"].clone();
    let other = house.user("bob").await;
    assert!(house.call(&other, "picoaide_cron_delete", json!({"id": id})).await.1, "not his");
    assert!(!house.call(&token, "picoaide_cron_delete", json!({"id": id})).await.1);
    assert!(house.call(&token, "picoaide_cron_delete", json!({"id": id})).await.1, "gone");
}

#[tokio::test]
async fn an_entry_survives_a_restart_and_reaches_the_webhook_with_retries() {
    let (url, mut received) = receiver().await;
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let secret = dir.path().join("secret");
    std::fs::write(&secret, "hush\n").unwrap();
    let options = ["--cron-webhook", url.as_str(), "--cron-webhook-secret-file", secret.to_str().unwrap()];
    let house = House::at(Arc::clone(&dir), &options).await;
    let token = house.user("ana").await;
    let soon = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64 + 2_500;
    let (text, _) =
        house.call(&token, "picoaide_cron_create", json!({"schedule": format!("at {soon}"), "prompt": "water the plants"})).await;
    assert_eq!(inner(&text)["delivery"], true);
    house.stop().await;
    let house = House::at(dir, &options).await;
    let (signature, body) = tokio::time::timeout(std::time::Duration::from_secs(60), received.recv()).await.unwrap().unwrap();
    assert_eq!(
        (body["prompt"].as_str(), body["user"].as_str(), body["due_ms"].as_u64()),
        (Some("water the plants"), Some("ana"), Some(soon))
    );
    assert!(signature.starts_with("sha256=") && signature.len() == 71);
    eventually("a delivered one-time entry is gone", async || {
        inner(&house.call(&token, "picoaide_cron_list", json!({})).await.0)["count"] == 0
    })
    .await;
    assert!(received.try_recv().is_err(), "once");
}

#[tokio::test]
async fn skills_and_folders_are_those_of_the_user() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let skill = house.dir.path().join("state/skills/users/ana/mail/SKILL.md");
    std::fs::create_dir_all(skill.parent().unwrap()).unwrap();
    std::fs::write(skill, "---\nname: mail\ndescription: Writes mail\n---\nBody").unwrap();
    let folder = |name: &str, who: &str| deskhand_gateway::Folder {
        name: name.into(),
        description: "d".into(),
        path: "/srv/x".into(),
        who: who.into(),
    };
    house.gateway().store.add_folder(&folder("team", "ana")).await.unwrap();
    house.gateway().store.add_folder(&folder("others", "bob")).await.unwrap();
    let skills = inner(&house.call(&token, "picoaide_skills_list", json!({})).await.0);
    assert_eq!(skills["skills"][0]["description"], "Writes mail");
    let folders = inner(&house.call(&token, "picoaide_shared_folders", json!({})).await.0);
    assert_eq!((folders["count"].as_u64(), folders["folders"][0]["name"].as_str()), (Some(1), Some("team")));
    assert_eq!(inner(&house.call(&token, "picoaide_user_info", json!({})).await.0)["username"], "ana");
}
