//! Prompts.

use rmcp::ErrorData;
use rmcp::model::*;
use serde_json::{Value, json};

use crate::resources::wire;
use crate::rounds;
use crate::tools::PICTURE;

pub(crate) fn list() -> Result<ListPromptsResult, ErrorData> {
    let prompts = wire(json!([
        {"name": "test_simple_prompt", "description": "A prompt without arguments"},
        {"name": "test_prompt_with_arguments", "description": "A prompt with two arguments", "arguments": [
            {"name": "arg1", "description": "First", "required": true}, {"name": "arg2", "description": "Second", "required": true},
        ]},
        {"name": "test_prompt_with_embedded_resource", "description": "A prompt with a resource in it", "arguments": [
            {"name": "resourceUri", "description": "Which resource", "required": true},
        ]},
        {"name": "test_prompt_with_image", "description": "A prompt with a picture in it"},
        {"name": "test_input_required_result_prompt", "description": "A prompt that asks something first"},
    ]))?;
    Ok(ListPromptsResult::with_all_items(prompts))
}

pub(crate) fn get(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| {
        let value = request.arguments.as_ref().and_then(|arguments| arguments.get(name));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let say = |text: String| json!([{"role": "user", "content": {"type": "text", "text": text}}]);
    let messages = match request.name.as_str() {
        "test_simple_prompt" => say("This is a simple prompt for testing.".into()),
        "test_prompt_with_arguments" => say(format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2"))),
        "test_prompt_with_embedded_resource" => json!([
            {"role": "user", "content": {"type": "resource", "resource": {
                "uri": argument("resourceUri"), "mimeType": "text/plain", "text": "Embedded resource content for testing.",
            }}},
            {"role": "user", "content": {"type": "text", "text": "Please process the embedded resource above."}},
        ]),
        "test_prompt_with_image" => json!([
            {"role": "user", "content": {"type": "image", "data": PICTURE, "mimeType": "image/png"}},
            {"role": "user", "content": {"type": "text", "text": "Please analyze the image above."}},
        ]),
        "test_input_required_result_prompt" => match request.input_responses.as_ref().and_then(|given| given.get("user_context")) {
            None => {
                return Ok(rounds::ask(
                    json!({"user_context": rounds::form("What context should the prompt use?", "context", "string")}),
                    None,
                )?
                .into());
            }
            Some(given) => say(format!("With the context {given}")),
        },
        name => return Err(ErrorData::invalid_params(format!("Unknown prompt: {name}"), None)),
    };
    Ok(GetPromptResult::new(wire(messages)?).into())
}
