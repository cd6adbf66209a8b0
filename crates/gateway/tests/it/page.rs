//! What the status page asks for and does; the page itself is tested in a real browser by the root package.

use serde_json::{Value, json};

use crate::house::{House, PASSWORD, Peer};

async fn cookie(house: &House, user: &str) -> String {
    let form = [("username", user), ("password", PASSWORD)];
    let response = house.client.post(house.at_path("/api/session")).form(&form).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned()
}

async fn act(house: &House, cookie: &str, what: &str, action: Value) -> u16 {
    let url = house.at_path(&format!("/api/admin/{what}"));
    house.client.post(url).header("cookie", cookie).json(&action).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_user_sees_their_own_and_a_superadmin_everybody() {
    let house = House::new().await;
    let (ana, bob) = (house.user("ana").await, house.user("bob").await);
    house.add("root", true).await;
    let _peers = (Peer::connect(&house, "computer", &ana).await, Peer::connect(&house, "computer", &bob).await);
    let (_, _) = (house.call(&ana, "browser_x", json!({})).await, house.call(&bob, "browser_x", json!({})).await);
    let status = async |user: &str| -> Value {
        let request = house.client.get(house.at_path("/api/status")).header("cookie", cookie(&house, user).await);
        request.send().await.unwrap().json().await.unwrap()
    };
    let own = status("ana").await;
    assert_eq!((own["executors"].as_array().unwrap().len(), own["calls"].as_array().unwrap().len()), (1, 1));
    assert!(own["tools"].as_array().unwrap().len() >= 6 && own["users"].is_null());
    let all = status("root").await;
    assert_eq!((all["executors"].as_array().unwrap().len(), all["users"].as_array().unwrap().len()), (2, 3));
    let stranger = house.client.get(house.at_path("/api/status")).send().await.unwrap();
    assert_eq!(stranger.status(), 401);
    let page = house.client.get(&house.url).send().await.unwrap();
    assert!(page.headers()["content-security-policy"].to_str().unwrap().contains("frame-ancestors 'none'"));
    assert!(page.text().await.unwrap().contains("Deskhand gateway"));
}

#[tokio::test]
async fn a_superadmin_administers_and_nobody_else() {
    let house = House::new().await;
    let token = house.user("ana").await;
    house.add("root", true).await;
    let (root, ana) = (cookie(&house, "root").await, cookie(&house, "ana").await);
    let add = json!({"user": "eve", "password": "long enough"});
    assert_eq!(act(&house, &ana, "user-add", add.clone()).await, 403);
    assert_eq!(act(&house, "", "user-add", add.clone()).await, 401);
    let foreign = house.client.post(house.at_path("/api/admin/user-add")).header("cookie", &root).header("origin", "https://evil.example");
    assert_eq!(foreign.json(&add).send().await.unwrap().status(), 403, "another site's page");
    assert_eq!(act(&house, &root, "user-add", add.clone()).await, 200);
    assert_eq!(act(&house, &root, "user-add", add).await, 400, "there already");
    assert_eq!(act(&house, &root, "user-remove", json!({"user": "root"})).await, 400, "not oneself");
    let program = json!({"server": "s", "spec": {"kind": "stdio", "command": "/bin/sh"}});
    assert_eq!(act(&house, &root, "server-add", program).await, 400, "no programs by web page");
    let server = json!({"server": "notes", "spec": {"kind": "http", "url": "http://127.0.0.1:1/mcp"}});
    assert_eq!(act(&house, &root, "server-add", server).await, 200);
    assert_eq!(act(&house, &root, "grant-add", json!({"server": "notes", "user": "*"})).await, 200);
    assert_eq!(act(&house, &root, "no-such", json!({})).await, 404);
    let mut peer = Peer::connect(&house, "computer", &token).await;
    assert_eq!(act(&house, &root, "token-reset", json!({"user": "ana"})).await, 200);
    assert_eq!(peer.close_code().await, 1008);
}

#[tokio::test]
async fn health_and_metrics_are_public_and_name_nobody() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let _peer = Peer::connect(&house, "computer", &token).await;
    house.call(&token, "browser_x", json!({})).await;
    let health: Value = house.client.get(house.at_path("/health")).send().await.unwrap().json().await.unwrap();
    assert_eq!(health["ready"], true);
    let metrics = house.client.get(house.at_path("/metrics")).send().await.unwrap().text().await.unwrap();
    for line in ["deskhand_executors{service=\"computer\"} 1", "deskhand_calls_total{ending=\"not connected\"} 1"] {
        assert!(metrics.lines().any(|found| found == line), "{line} in\n{metrics}");
    }
    assert!(!metrics.contains("ana"));
}
