//! `test://` resources.

use rmcp::ErrorData;
use rmcp::model::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::tools::PICTURE;

/// A model type out of its wire form.
pub(crate) fn wire<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(format!("a fixture is malformed: {error}"), None))
}

pub(crate) fn list() -> Result<ListResourcesResult, ErrorData> {
    let resources = wire(json!([
        {"uri": "test://static-text", "name": "static text", "description": "A text that never changes", "mimeType": "text/plain"},
        {"uri": "test://static-binary", "name": "static binary", "description": "A picture that never changes", "mimeType": "image/png"},
        {"uri": "test://watched-resource", "name": "watched", "description": "Something to subscribe to", "mimeType": "text/plain"},
    ]))?;
    Ok(ListResourcesResult::with_all_items(resources))
}

pub(crate) fn templates() -> Result<ListResourceTemplatesResult, ErrorData> {
    let templates = wire(json!([
        {"uriTemplate": "test://template/{id}/data", "name": "template", "description": "One document for each id", "mimeType": "application/json"},
    ]))?;
    Ok(ListResourceTemplatesResult::with_all_items(templates))
}

pub(crate) fn read(uri: &str) -> Result<ReadResourceResponse, ErrorData> {
    let template = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, template) {
        ("test://static-text", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
        }
        ("test://watched-resource", _) => json!({"uri": uri, "mimeType": "text/plain", "text": "Watched"}),
        ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PICTURE}),
        (_, Some(id)) => {
            let text = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string();
            json!({"uri": uri, "mimeType": "application/json", "text": text})
        }
        _ => return Err(ErrorData::invalid_params("Resource not found", Some(json!({"uri": uri})))),
    };
    Ok(ReadResourceResult::new(vec![wire(content)?]).into())
}
