//! Where executors connect: `/api/computer/ws` and `/api/browser/ws`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use super::{Shared, Web, failure};
use crate::hub::{Service, socket};

type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

pub(super) async fn computer(State(web): Shared, headers: HeaderMap, uri: Uri, upgrade: Upgrade) -> Response {
    accept(&web, &headers, &uri, upgrade, Service::Computer).await
}

pub(super) async fn browser(State(web): Shared, headers: HeaderMap, uri: Uri, upgrade: Upgrade) -> Response {
    accept(&web, &headers, &uri, upgrade, Service::Browser).await
}

async fn accept(web: &Web, headers: &HeaderMap, uri: &Uri, upgrade: Upgrade, service: Service) -> Response {
    // The token first: a stranger learns nothing else.
    let user = match web.token_user(headers, uri).await {
        Ok((user, _, _)) => user,
        Err(response) => return response,
    };
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let gateway = &web.gateway;
    if gateway.stop.is_cancelled() {
        return failure(StatusCode::SERVICE_UNAVAILABLE, "the gateway is going down; try again in a moment");
    }
    gateway.metrics.sockets.fetch_add(1, Ordering::Relaxed);
    socket::accept(upgrade, Arc::clone(&gateway.hub), Arc::clone(&gateway.catalogue), user.name, service, user.generation)
}
