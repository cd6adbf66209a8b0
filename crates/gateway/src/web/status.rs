//! `/health`, `/metrics`, and what the status page shows.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::{Shared, Web, error_response, success};
use crate::hub::Service;
use crate::platform;
use crate::store::User;

/// Calls shown.
const CALLS: usize = 50;

/// `GET /health`: 200 while requests and the database are served, else 503.
pub(super) async fn health(State(web): Shared) -> Response {
    let ready = !web.gateway.stop.is_cancelled() && web.gateway.store.ping().await.is_ok();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({"name": "deskhand-gateway", "version": env!("CARGO_PKG_VERSION"), "ready": ready});
    (status, axum::Json(body)).into_response()
}

/// `GET /metrics`.
pub(super) async fn metrics(State(web): Shared) -> Response {
    let links = web.gateway.hub.links();
    let counts = Service::ALL.map(|service| (service.name(), links.iter().filter(|link| link.service() == service).count()));
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], web.gateway.metrics.text(&counts)).into_response()
}

/// `GET /api/status`: for the signed-in user; superadmins see everybody.
pub(super) async fn status(State(web): Shared, headers: HeaderMap) -> Response {
    let user = match web.signed_in(&headers).await {
        Ok(user) => user,
        Err(response) => return response,
    };
    match gather(&web, &user).await {
        Ok(fields) => success(fields),
        Err(error) => error_response(&error),
    }
}

async fn gather(web: &Web, user: &User) -> crate::Result<Value> {
    let gateway = &web.gateway;
    let admin = user.is_superadmin();
    let only = (!admin).then_some(user.name.as_str());
    let mut links: Vec<_> = gateway.hub.links().iter().map(|link| link.info()).collect();
    links.retain(|info| only.is_none_or(|name| info.user == name));
    links.sort_by(|a, b| (&a.user, a.service).cmp(&(&b.user, b.service)));
    links.truncate(1_000);
    let mut fields = json!({
        "username": user.name,
        "superadmin": admin,
        "version": env!("CARGO_PKG_VERSION"),
        "executors": links,
        "calls": gateway.journal.last(only, CALLS),
        "cron_webhook": gateway.cron.is_configured(),
    });
    if admin {
        fields["users"] = users(web).await?;
        fields["servers"] = servers(web).await?;
        fields["grants"] = grants(web).await?;
    } else {
        fields["tools"] = tools(web, &user.name).await?;
        fields["granted"] = json!(gateway.store.granted(&user.name).await?);
    }
    Ok(fields)
}

/// Names and descriptions of what the user's agent sees.
async fn tools(web: &Web, user: &str) -> crate::Result<Value> {
    let mut tools = platform::tools();
    for service in Service::ALL {
        tools.extend(web.gateway.catalogue.tools(&web.gateway.hub, user, service).iter().cloned());
    }
    Ok(tools.iter().map(|tool| json!({"name": tool["name"], "description": tool["description"]})).collect())
}

async fn users(web: &Web) -> crate::Result<Value> {
    let users = web.gateway.store.users().await?;
    Ok(users.iter().map(|user| json!({"name": user.name, "superadmin": user.is_superadmin(), "created_ms": user.created_ms})).collect())
}

async fn servers(web: &Web) -> crate::Result<Value> {
    let servers = web.gateway.store.servers().await?;
    Ok(servers.iter().map(|server| json!({"name": server.name, "what": server.spec.summary()})).collect())
}

async fn grants(web: &Web) -> crate::Result<Value> {
    let grants = web.gateway.store.grants().await?;
    Ok(grants.iter().map(|(server, user)| json!({"server": server, "user": user})).collect())
}
