//! Signing in, tokens and what an agent needs to configure itself.

use reqwest::StatusCode;
use serde_json::Value;

use crate::house::{House, PASSWORD};

async fn login(house: &House, path: &str, user: &str, password: &str) -> (StatusCode, Value, Option<String>) {
    let form = [("username", user), ("password", password)];
    let response = house.client.post(house.at_path(path)).form(&form).send().await.unwrap();
    let cookie = response.headers().get("set-cookie").map(|value| value.to_str().unwrap().to_owned());
    (response.status(), response.json().await.unwrap(), cookie)
}

#[tokio::test]
async fn the_contract_of_signing_in() {
    let house = House::new().await;
    house.user("ana").await;
    house.add("root", true).await;
    for (user, password, status) in [
        ("", "x", 400),
        ("ana", "", 400),
        ("ana", "wrong", 401),
        ("nobody", PASSWORD, 401),
        ("root", PASSWORD, 403),
        ("root", "wrong", 401),
    ] {
        let (found, body, cookie) = login(&house, "/api/login", user, password).await;
        assert_eq!((found.as_u16(), &body["success"], cookie), (status, &Value::Bool(false), None), "{user} {password}");
        assert!(body["error"].as_str().unwrap().len() > 5);
    }
    let (status, body, cookie) = login(&house, "/api/login", "ana", PASSWORD).await;
    assert_eq!((status.as_u16(), &body["success"], &body["username"]), (200, &Value::Bool(true), &Value::from("ana")));
    let cookie = cookie.unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let token = |cookie: String| {
        let request = house.client.get(house.at_path("/api/mcp/token")).header("cookie", cookie);
        async { request.send().await.unwrap().json::<Value>().await.unwrap() }
    };
    let first = token(cookie.clone()).await;
    assert!(first["token"].as_str().unwrap().starts_with("ana:"));
    assert_eq!(token(cookie.clone()).await, first, "the same afterwards");
    assert_eq!(token("deskhand_session=00".into()).await["success"], false);
    house.gateway().reset_token("ana").await.unwrap();
    assert_ne!(token(cookie).await, first, "until an administrator resets it");
    let (_, _, cookie) = login(&house, "/api/session", "root", PASSWORD).await;
    let cookie = cookie.unwrap().split(';').next().unwrap().to_owned();
    let response = house.client.get(house.at_path("/api/mcp/token")).header("cookie", cookie).send().await.unwrap();
    assert_eq!(response.status(), 403, "a superadmin gets no token");
}

#[tokio::test]
async fn guessing_is_slowed_down_for_that_name() {
    let house = House::new().await;
    house.user("ana").await;
    house.user("bob").await;
    for _ in 0..10 {
        assert_eq!(login(&house, "/api/login", "ana", "wrong").await.0, 401);
    }
    let form = [("username", "ana"), ("password", PASSWORD)];
    let response = house.client.post(house.at_path("/api/login")).form(&form).send().await.unwrap();
    assert_eq!(response.status(), 429, "also with the right password");
    assert!(response.headers().contains_key("retry-after"));
    assert_eq!(login(&house, "/api/login", "bob", PASSWORD).await.0, 200, "others are not hit");
}

#[tokio::test]
async fn an_agent_can_configure_itself() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let me = house.client.get(house.at_path("/api/picoagent/me")).bearer_auth(&token).send().await.unwrap();
    let me: Value = me.json().await.unwrap();
    assert_eq!((me["success"].as_bool(), me["username"].as_str(), me["token"].as_str()), (Some(true), Some("ana"), Some(token.as_str())));
    assert_eq!(me["mcp"]["computer"], house.at_path("/api/mcp/sse/computer"));
    let status = |request: reqwest::RequestBuilder| async { request.send().await.unwrap().status().as_u16() };
    assert_eq!(status(house.client.get(house.at_path("/api/picoagent/me"))).await, 401);
    assert_eq!(status(house.client.get(house.at_path("/api/picoagent/me?token=ana:00"))).await, 403);
}

#[tokio::test]
async fn tokens_and_sessions_survive_a_restart() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let (_, _, cookie) = login(&house, "/api/login", "ana", PASSWORD).await;
    let dir = std::sync::Arc::clone(&house.dir);
    house.stop().await;
    let house = House::at(dir, &[]).await;
    assert_eq!(house.token("ana").await, token);
    let cookie = cookie.unwrap().split(';').next().unwrap().to_owned();
    let response = house.client.get(house.at_path("/api/mcp/token")).header("cookie", cookie).send().await.unwrap();
    assert_eq!(response.json::<Value>().await.unwrap()["token"], token);
}
