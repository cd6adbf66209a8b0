//! The plain tools: contents, progress, logs, and questions of the older revisions.

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::handler::{Change, Shared};
use crate::resources::wire;

/// One red pixel.
pub(crate) const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// Silence.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const PLAIN: [&str; 24] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_error_handling",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_reconnection",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
];

pub(crate) fn list() -> Vec<Tool> {
    let mut tools: Vec<Value> =
        PLAIN.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object", "properties": {}}})).collect();
    let one = |name: &str, schema: Value| json!({"name": name, "inputSchema": schema});
    let text = |field: &str| json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
    tools.push(one("test_sampling", text("prompt")));
    tools.push(one("test_elicitation", text("message")));
    tools.push(one(
        "test_header",
        json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}, "required": ["region"]}),
    ));
    tools.push(one("json_schema_2020_12_tool", schema_2020_12()));
    let described = tools.into_iter().map(|mut tool| {
        tool["description"] = "A fixture of the conformance suite".into();
        tool
    });
    described.filter_map(|tool| wire(tool).ok()).collect()
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {
            "name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"}, "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// A result of these content blocks.
fn content(blocks: Value) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResult::success(wire(blocks)?).into())
}

/// A result of one text.
pub(crate) fn text(text: String) -> Result<CallToolResponse, ErrorData> {
    content(json!([{"type": "text", "text": text}]))
}

fn resource(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}})
}

pub(crate) async fn call(
    shared: &Shared,
    request: CallToolRequestParams,
    cx: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let picture = json!({"type": "image", "data": PICTURE, "mimeType": "image/png"});
    match request.name.as_ref() {
        "test_simple_text" => text("This is a simple text response for testing.".into()),
        "test_image_content" => content(json!([picture])),
        "test_audio_content" => content(json!([{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}])),
        "test_embedded_resource" => {
            content(json!([resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]))
        }
        "test_multiple_content_types" => content(json!([
            {"type": "text", "text": "Multiple content types test:"}, picture,
            resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ])),
        "test_error_handling" => {
            let blocks = wire(json!([{"type": "text", "text": "This tool intentionally returns an error for testing"}]))?;
            Ok(CallToolResult::error(blocks).into())
        }
        "test_tool_with_logging" => logging(&cx).await,
        "test_tool_with_progress" => progress(&cx).await,
        "test_sampling" => sampling(&cx, argument("prompt")).await,
        "test_elicitation" => {
            let fields = json!({"username": {"type": "string", "description": "User's response"}, "email": {"type": "string", "description": "User's email address"}});
            let schema = json!({"type": "object", "properties": fields, "required": ["username", "email"]});
            elicit(&cx, argument("message"), schema, "User response").await
        }
        "test_elicitation_sep1034_defaults" => elicit(&cx, "Defaults".into(), defaults(), "Elicitation completed").await,
        "test_elicitation_sep1330_enums" => elicit(&cx, "Choices".into(), choices(), "Elicitation completed").await,
        "test_missing_capability" => needs_sampling(&cx),
        "test_trigger_tool_change" => changed(shared, Change::Tools),
        "test_trigger_prompt_change" => changed(shared, Change::Prompts),
        "test_reconnection" => {
            tokio::time::sleep(Duration::from_millis(100)).await;
            text("Reconnection test completed".into())
        }
        "json_schema_2020_12_tool" | "test_header" | "test_streaming_elicitation" | "test_logging_tool" => {
            text(format!("{} was called", request.name))
        }
        name => Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None)),
    }
}

fn changed(shared: &Shared, change: Change) -> Result<CallToolResponse, ErrorData> {
    let _ = shared.changes.send(change);
    text(format!("{change:?} changed"))
}

#[expect(deprecated, reason = "the older revisions still have it")]
async fn logging(cx: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let _ = cx.peer.notify_logging_message(LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(line))).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    text("Logged three times".into())
}

async fn progress(cx: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = cx.meta.get_progress_token() {
            let _ = cx.peer.notify_progress(ProgressNotificationParam::new(token, done).with_total(100.0)).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    text("Progress told".into())
}

#[expect(deprecated, reason = "the older revisions still have it")]
async fn sampling(cx: &RequestContext<RoleServer>, prompt: String) -> Result<CallToolResponse, ErrorData> {
    let params = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    match cx.peer.create_message(params).await {
        Ok(answer) => text(format!("LLM response: {}", json!(answer.message.content))),
        Err(error) => Err(ErrorData::internal_error(format!("sampling failed: {error}"), None)),
    }
}

async fn elicit(cx: &RequestContext<RoleServer>, message: String, schema: Value, word: &str) -> Result<CallToolResponse, ErrorData> {
    let params = wire(json!({"message": message, "requestedSchema": schema, "mode": "form"}))?;
    match cx.peer.create_elicitation(params).await {
        Ok(answer) => text(format!("{word}: action={}, content={}", json!(answer.action), json!(answer.content))),
        Err(error) => Err(ErrorData::internal_error(format!("elicitation failed: {error}"), None)),
    }
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30}, "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}, "verified": {"type": "boolean", "default": true},
    }})
}

fn choices() -> Value {
    let titled = |values: [&str; 3]| json!([{"const": values[0], "title": "First"}, {"const": values[1], "title": "Second"}, {"const": values[2], "title": "Third"}]);
    let three = json!(["option1", "option2", "option3"]);
    let values = ["value1", "value2", "value3"];
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": three},
        "titledSingle": {"type": "string", "oneOf": titled(values)},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": three}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled(values)}},
    }})
}

fn needs_sampling(cx: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    let declared = json!(cx.client_capabilities().unwrap_or_default());
    if declared.get("sampling").is_some() {
        return text("The client can sample".into());
    }
    Err(ErrorData::missing_required_client_capability(wire(json!({"sampling": {}}))?))
}
