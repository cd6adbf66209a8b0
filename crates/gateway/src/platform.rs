//! The tools of the `agent` service that the gateway itself answers.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::cron::{LONGEST_PROMPT, MOST_PER_USER, Schedule};
use crate::error::{GatewayError, Result};
use crate::gateway::Gateway;
use crate::hub::Service;
use crate::skills;
use crate::store::{CronRow, now_ms};

/// Their names begin so.
pub(crate) const PREFIX: &str = "picoaide_";

/// Their list, as in `tools/list`.
#[must_use]
pub(crate) fn tools() -> Vec<Value> {
    let none = json!({"type": "object", "properties": {}});
    let reads = json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
    let writes = json!({"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": true});
    let deletes = json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false});
    let tool = |name: &str, description: &str, schema: &Value, annotations: &Value| json!({"name": format!("{PREFIX}{name}"), "description": description, "inputSchema": schema, "annotations": annotations});
    vec![
        tool("user_info", "Who you act for: the user's name, and which of their executors are connected.", &none, &reads),
        tool("skills_list", "The skills this user may use, each with its whole SKILL.md.", &none, &reads),
        tool("shared_folders", "The shared folders this user may use: name, description, path.", &none, &reads),
        tool(
            "cron_create",
            "Has a prompt delivered to the agent at set times. Returns its id and the next time.",
            &create_schema(),
            &writes,
        ),
        tool("cron_list", "This user's cron entries with their next time and what came of the last one.", &none, &reads),
        tool(
            "cron_delete",
            "Deletes a cron entry of this user.",
            &json!({"type": "object", "properties": {"id": {"type": "string", "description": "As cron_list names it."}}, "required": ["id"]}),
            &deletes,
        ),
    ]
}

fn create_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "schedule": {
                "type": "string",
                "description": "`cron M H D M W` (five fields, the gateway's local time), `every MILLISECONDS` (1000 at least) or `at UNIX_MILLISECONDS` (once).",
            },
            "prompt": {"type": "string", "description": "What to tell the agent then."},
        },
        "required": ["schedule", "prompt"],
    })
}

/// Runs one; `None` when there is none of that name.
pub(crate) async fn call(gateway: &Gateway, user: &str, name: &str, arguments: &Value) -> Option<Answer> {
    let result = match name.strip_prefix(PREFIX)? {
        "user_info" => Ok(user_info(gateway, user)),
        "skills_list" => skills_list(gateway, user).await,
        "shared_folders" => shared_folders(gateway, user).await,
        "cron_create" => cron_create(gateway, user, arguments).await,
        "cron_list" => cron_list(gateway, user).await,
        "cron_delete" => cron_delete(gateway, user, arguments).await,
        _ => return None,
    };
    Some(match result {
        Ok(value) => Answer::json(value),
        Err(error) if error.is_callers() => Answer::error(error.to_string()),
        Err(error) => {
            tracing::error!(%error, name, "platform tool failed");
            Answer::error(format!("{name} failed: the gateway could not read or write its database. Try again, or ask its administrator."))
        }
    })
}

fn user_info(gateway: &Gateway, user: &str) -> Value {
    let connected = |service| gateway.hub.link(user, service).is_some();
    json!({"username": user, "computer_connected": connected(Service::Computer), "browser_connected": connected(Service::Browser)})
}

async fn skills_list(gateway: &Gateway, user: &str) -> Result<Value> {
    let (root, user) = (gateway.skills_dir.clone(), user.to_owned());
    let list = tokio::task::spawn_blocking(move || skills::list(&root, &user)).await;
    let list = list.map_err(|error| GatewayError::Invalid(format!("the skills could not be read: {error}")))?;
    Ok(json!({"count": list.len(), "skills": list}))
}

async fn shared_folders(gateway: &Gateway, user: &str) -> Result<Value> {
    let rows = gateway.store.folders().await?;
    let folders: Vec<Value> = rows
        .iter()
        .filter(|row| row.is_for(user))
        .map(|row| json!({"name": row.name, "description": row.description, "path": row.path}))
        .collect();
    Ok(json!({"count": folders.len(), "folders": folders}))
}

fn text<'a>(arguments: &'a Value, name: &str) -> Result<&'a str> {
    let value = arguments.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    // PostgreSQL keeps no NUL in a text.
    let value = value.filter(|text| !text.contains('\0'));
    value.ok_or_else(|| GatewayError::Invalid(format!("the argument {name:?} is missing, no text, or holds a NUL")))
}

async fn cron_create(gateway: &Gateway, user: &str, arguments: &Value) -> Result<Value> {
    let (schedule_text, prompt) = (text(arguments, "schedule")?, text(arguments, "prompt")?);
    if prompt.len() > LONGEST_PROMPT {
        return Err(GatewayError::Invalid(format!("the prompt is longer than {LONGEST_PROMPT} bytes")));
    }
    let schedule: Schedule = schedule_text.parse()?;
    let next = schedule.first_after(now_ms()).ok_or_else(|| {
        GatewayError::Invalid(format!("the schedule {schedule_text:?} never comes: its time is past or more than ten years away"))
    })?;
    if gateway.store.cron_of(user).await?.len() >= MOST_PER_USER {
        return Err(GatewayError::Invalid(format!("there are {MOST_PER_USER} cron entries already; delete some first")));
    }
    let id = gateway.store.add_cron(user, schedule_text, prompt, next).await?;
    gateway.cron.changed();
    let mut result = json!({"id": id, "schedule": schedule_text, "next_ms": next, "delivery": gateway.cron.is_configured()});
    if !gateway.cron.is_configured() {
        result["warning"] = "The entry is stored, but this gateway has no webhook configured (--cron-webhook), so nothing will be delivered when it fires. Tell the person or the administrator.".into();
    }
    Ok(result)
}

async fn cron_list(gateway: &Gateway, user: &str) -> Result<Value> {
    let entry = |row: &CronRow| {
        let next = (row.next_ms != i64::MAX).then_some(row.next_ms);
        json!({
            "id": row.id, "schedule": row.schedule, "prompt": row.prompt, "created_ms": row.created_ms, "next_ms": next,
            "last_ms": (row.last_ms > 0).then_some(row.last_ms),
            "last_result": (!row.last_result.is_empty()).then_some(&row.last_result),
        })
    };
    let entries: Vec<Value> = gateway.store.cron_of(user).await?.iter().map(entry).collect();
    Ok(json!({"count": entries.len(), "entries": entries, "delivery": gateway.cron.is_configured()}))
}

async fn cron_delete(gateway: &Gateway, user: &str, arguments: &Value) -> Result<Value> {
    let id = text(arguments, "id")?;
    if !gateway.store.delete_cron(user, id).await? {
        return Err(GatewayError::Invalid(format!("there is no cron entry {id:?} of this user; cron_list names them")));
    }
    gateway.cron.changed();
    Ok(json!({"deleted": id}))
}
