//! Tools that ask something before they answer (2026-07-28: several round trips, state sealed by us and kept by the client).

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::resources::wire;
use crate::tools::text;

/// A question to the user with one field.
pub(crate) fn form(message: &str, field: &str, kind: &str) -> Value {
    let schema = json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

fn sampling(message: &str, tokens: u32) -> Value {
    let messages = json!([{"role": "user", "content": {"type": "text", "text": message}}]);
    json!({"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}})
}

/// A result that asks these things.
pub(crate) fn ask(requests: Value, state: Option<String>) -> Result<InputRequiredResult, ErrorData> {
    Ok(InputRequiredResult::new(Some(wire(requests)?), state))
}

pub(crate) fn call(
    codec: &RequestStateCodec,
    request: &CallToolRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let given = |key: &str| request.input_responses.as_ref().and_then(|responses| responses.get(key)).filter(|value| value.is_object());
    let name = request.name.trim_start_matches("test_input_required_result_");
    let question = || form("Please confirm", "ok", "boolean");
    match name {
        "elicitation" => match given("user_name").filter(|answer| answer.get("action").is_some()) {
            None => Ok(ask(json!({"user_name": form("What is your name?", "name", "string")}), None)?.into()),
            Some(answer) => text(format!("Hello, {}!", answer.pointer("/content/name").unwrap_or(answer))),
        },
        "sampling" => match given("capital_question") {
            None => Ok(ask(json!({"capital_question": sampling("What is the capital of France?", 100)}), None)?.into()),
            Some(answer) => text(format!("The answer was {answer}")),
        },
        "list_roots" => match given("client_roots") {
            None => Ok(ask(json!({"client_roots": {"method": "roots/list", "params": {}}}), None)?.into()),
            Some(answer) => text(format!("The roots are {answer}")),
        },
        "capabilities" => capable(cx),
        "request_state" | "tampered_state" => match state(codec, request)? {
            None => Ok(ask(json!({"confirm": question()}), Some(codec.seal(name.as_bytes())))?.into()),
            Some(_) => text("state-ok".to_owned()),
        },
        "multiple_inputs" => {
            match state(codec, request)?.filter(|_| ["user_name", "greeting", "client_roots"].iter().all(|key| given(key).is_some())) {
                Some(_) => text("All three were answered".to_owned()),
                None => {
                    let requests = json!({
                        "user_name": form("What is your name?", "name", "string"),
                        "greeting": sampling("Generate a greeting", 50),
                        "client_roots": {"method": "roots/list", "params": {}},
                    });
                    Ok(ask(requests, Some(codec.seal(b"all")))?.into())
                }
            }
        }
        "multi_round" => match state(codec, request)?.as_deref() {
            Some(b"one") => {
                Ok(ask(json!({"step2": form("Step 2: What is your favorite color?", "color", "string")}), Some(codec.seal(b"two")))?.into())
            }
            Some(b"two") => text("Both steps were answered".to_owned()),
            _ => Ok(ask(json!({"step1": form("Step 1: What is your name?", "name", "string")}), Some(codec.seal(b"one")))?.into()),
        },
        other => Err(ErrorData::invalid_params(format!("Unknown tool: {other}"), None)),
    }
}

/// What we sealed in an earlier round, if the client sent it back unchanged.
fn state(codec: &RequestStateCodec, request: &CallToolRequestParams) -> Result<Option<Vec<u8>>, ErrorData> {
    let Some(sealed) = &request.request_state else { return Ok(None) };
    codec.open(sealed).map(Some).map_err(|_| ErrorData::invalid_params("requestState is not what this server gave out", None))
}

/// Asks only what the client said it can answer.
fn capable(cx: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    let capabilities = json!(cx.client_capabilities().unwrap_or_default());
    let mut requests = json!({});
    if capabilities.get("sampling").is_some() {
        requests["question"] = sampling("Say something", 50);
    }
    if capabilities.get("elicitation").is_some() {
        requests["confirm"] = form("Please confirm", "ok", "boolean");
    }
    Ok(ask(requests, None)?.into())
}
