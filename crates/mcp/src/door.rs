//! The rmcp side of a [`Service`]: sessions of every older revision and the sessionless newest one.
//!
//! A call runs in a task of its own. So a panic in a tool becomes −32603 instead of a client that waits for ever, and a
//! call is never dropped half way: its cancel token fires and it ends by itself, audited.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool, ToolAnnotations,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::service::{Call, CallError, Caller, Outcome, Progress, Service, ToolInfo};

/// How often a quiet session's list watcher looks whether its session is still there.
const WATCHER_CHECK: Duration = Duration::from_secs(30);

/// Serves one [`Service`] through rmcp.
#[derive(Clone)]
pub(crate) struct Door {
    service: Arc<dyn Service>,
}

impl Door {
    pub(crate) fn new(service: Arc<dyn Service>) -> Self {
        Self { service }
    }

    fn caller(context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let parts = context.extensions.get::<http::request::Parts>();
        let mut caller = parts
            .and_then(|parts| parts.extensions.get::<Caller>())
            .cloned()
            .ok_or_else(|| ErrorData::internal_error("the request carries no caller", None))?;
        if let Some(info) = context.client_info() {
            caller.client = Some(format!("{} {}", info.name, info.version).chars().take(120).collect());
        }
        Ok(caller)
    }
}

/// Runs a call in its own task, so that neither a panic nor a vanished client can leave it half done.
pub(crate) async fn run(service: Arc<dyn Service>, call: Call) -> Result<Outcome, CallError> {
    let tool = call.tool.clone();
    match tokio::spawn(async move { service.call(call).await }).await {
        Ok(result) => result,
        Err(error) => {
            tracing::error!(tool, panic = error.is_panic(), "a tool ended abnormally");
            Err(CallError::Internal(format!("{tool} ended by an internal fault; nothing more is known of its effect")))
        }
    }
}

fn to_error(error: CallError) -> ErrorData {
    match error {
        CallError::UnknownTool(_) | CallError::InvalidParams(_) => ErrorData::invalid_params(error.to_string(), None),
        CallError::Internal(text) => ErrorData::internal_error(text, None),
    }
}

fn to_result(outcome: &Outcome) -> Result<CallToolResult, ErrorData> {
    let blocks: Result<Vec<ContentBlock>, _> = outcome.content.iter().map(|content| serde_json::from_value(content.to_value())).collect();
    let blocks = blocks.map_err(|error| ErrorData::internal_error(format!("a result that is no MCP content: {error}"), None))?;
    let mut result = if outcome.is_error { CallToolResult::error(blocks) } else { CallToolResult::success(blocks) };
    result.structured_content = outcome.structured.clone();
    Ok(result)
}

fn to_tool(info: &ToolInfo) -> Tool {
    let mut tool = Tool::new(info.name.clone(), info.description.clone(), Arc::clone(&info.input_schema));
    tool.title.clone_from(&info.title);
    tool.output_schema.clone_from(&info.output_schema);
    tool.annotations =
        Some(ToolAnnotations::from_raw(None, Some(info.read_only), Some(info.destructive), Some(info.idempotent), Some(info.open_world)));
    tool
}

impl ServerHandler for Door {
    fn get_info(&self) -> ServerConfig {
        let identity = self.service.identity();
        let tools = ServerCapabilities::builder().enable_tools();
        let capabilities = if self.service.changes().is_some() { tools.enable_tool_list_changed().build() } else { tools.build() };
        let mut info = Implementation::new(identity.name, identity.version);
        info.title = Some(identity.title);
        let config = ServerConfig::new(capabilities).with_server_info(info);
        match identity.instructions {
            Some(text) => config.with_instructions(text),
            None => config,
        }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.service.tools(&Self::caller(&context)?).await;
        Ok(ListToolsResult::with_all_items(tools.iter().map(to_tool).collect()))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let call = Call {
            caller: Self::caller(&context)?,
            tool: request.name.to_string(),
            arguments: request.arguments.unwrap_or_default(),
            cancel: context.ct.clone(),
            progress: context.meta.get_progress_token().map(|token| progress(context.peer.clone(), token)),
        };
        let outcome = run(Arc::clone(&self.service), call).await.map_err(to_error)?;
        Ok(to_result(&outcome)?.into())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if let Some(changes) = self.service.changes() {
            tokio::spawn(tell_changes(changes, context.peer));
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let Some(mut changes) = self.service.changes() else {
            subscription.cancelled().await;
            return Ok(());
        };
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                changed = changes.changed() => {
                    if changed.is_err() || subscription.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Tells a session of each change of the list until the session is gone.
async fn tell_changes(mut changes: watch::Receiver<u64>, peer: Peer<RoleServer>) {
    loop {
        match tokio::time::timeout(WATCHER_CHECK, changes.changed()).await {
            Err(_) if peer.is_transport_closed() => return,
            Err(_) => {}
            Ok(Err(_)) => return,
            Ok(Ok(())) => {
                if peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Progress to one request's token. Told from a task, so that a tool never waits for the network.
fn progress(peer: Peer<RoleServer>, token: rmcp::model::ProgressToken) -> Progress {
    let (sender, mut receiver) = mpsc::channel::<ProgressNotificationParam>(16);
    tokio::spawn(async move {
        while let Some(param) = receiver.recv().await {
            if peer.notify_progress(param).await.is_err() {
                return;
            }
        }
    });
    Progress::new(move |done, total, message| {
        let mut param = ProgressNotificationParam::new(token.clone(), done);
        param.total = total;
        param.message = message;
        // A full channel means that the client does not keep up: an older figure already tells it enough.
        let _ = sender.try_send(param);
    })
}

/// A call without rmcp: the bare path.
pub(crate) fn bare_call(caller: Caller, params: Map<String, Value>, cancel: CancellationToken) -> Call {
    let mut params = params;
    let tool = match params.remove("name") {
        Some(Value::String(name)) => name,
        _ => String::new(),
    };
    let arguments = match params.remove("arguments") {
        Some(Value::Object(arguments)) => arguments,
        _ => Map::new(),
    };
    Call { caller, tool, arguments, cancel, progress: None }
}
