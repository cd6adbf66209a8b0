//! What a superadmin does on the status page: `POST /api/admin/{what}` with JSON. The same as the subcommands do.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::{Shared, Web, error_response, failure, success};
use crate::error::{GatewayError, Result};
use crate::hub::Close;
use crate::password;
use crate::upstream::ServerSpec;

/// Fields of all actions; each takes what it needs.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Action {
    user: String,
    password: String,
    superadmin: bool,
    server: String,
    spec: Option<ServerSpec>,
}

pub(super) async fn act(
    State(web): Shared,
    Path(what): Path<String>,
    headers: HeaderMap,
    action: std::result::Result<Json<Action>, JsonRejection>,
) -> Response {
    let admin = match web.signed_in(&headers).await {
        Ok(user) if user.is_superadmin() => user,
        Ok(_) => return failure(StatusCode::FORBIDDEN, "only a superadmin may do this"),
        Err(response) => return response,
    };
    // JSON is asked for by its content type, which no other site's form can send.
    let Ok(Json(action)) = action else {
        return failure(StatusCode::BAD_REQUEST, "send JSON with the fields of this action");
    };
    if what == "user-remove" && action.user == admin.name {
        return failure(StatusCode::BAD_REQUEST, "you cannot remove yourself; use `deskhand gateway user remove`");
    }
    match run(&web, &what, action).await {
        Ok(true) => {
            tracing::info!(admin = admin.name, what, "administered");
            success(json!({}))
        }
        Ok(false) => failure(StatusCode::NOT_FOUND, format!("there is no action {what:?}")),
        Err(error) => error_response(&error),
    }
}

async fn run(web: &Web, what: &str, action: Action) -> Result<bool> {
    let gateway = &web.gateway;
    let Action { user, password, superadmin, server, spec } = action;
    match what {
        "user-add" => gateway.store.add_user(&user, &password::hash(password).await?, superadmin).await?,
        "user-passwd" => gateway.store.set_password(&user, &password::hash(password).await?).await?,
        "user-remove" => {
            gateway.store.remove_user(&user).await?;
            gateway.access.forget(&user);
            gateway.hub.close_user(&user, Close::Revoked);
        }
        "token-reset" => gateway.reset_token(&user).await?,
        "server-add" => {
            let spec = spec.ok_or_else(|| GatewayError::Invalid("the server's spec is missing".into()))?;
            if matches!(spec, ServerSpec::Stdio { .. }) {
                // A stolen page session must not become a way to run programs on the gateway's machine.
                return Err(GatewayError::Invalid(
                    "a stdio server is a program on the gateway's machine; add it there with `deskhand gateway server add`".into(),
                ));
            }
            gateway.store.add_server(&server, &spec).await?;
        }
        "server-remove" => gateway.store.remove_server(&server).await?,
        "grant-add" => gateway.store.add_grant(&server, &user).await?,
        "grant-remove" => gateway.store.remove_grant(&server, &user).await?,
        _ => return Ok(false),
    }
    Ok(true)
}
