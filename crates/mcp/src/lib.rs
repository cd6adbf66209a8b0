//! The doors of Deskhand: MCP over Streamable HTTP (every revision), bare JSON-RPC, legacy SSE and stdio, and the client
//! for other MCP servers.
//!
//! A [`Service`] has the tools; an [`Endpoint`] puts them on the wire. Nothing here decides what a caller may do.

mod answer;
mod auth;
mod bare;
mod batch;
mod body;
mod connections;
mod conversation;
mod door;
mod endpoint;
mod error;
mod extra;
mod extra_client;
mod guard;
mod legacy;
mod link;
mod revisions;
pub mod rpc;
mod server;
mod service;
mod sessions;
mod stall;
mod standing;
mod stdio;
mod store;
mod worker;

pub use auth::{Authenticator, Tokens, same_token};
pub use endpoint::{Endpoint, EndpointConfig};
pub use error::McpError;
pub use extra::Extras;
pub use guard::OriginList;
pub use link::{Locate, Target};
pub use server::{Access, Route, Server};
pub use service::{Call, CallError, Caller, Content, Identity, Outcome, Principal, Progress, Service, ToolInfo};
pub use stdio::bridge;
pub use worker::{CLIENT_PREFIX, ProgramOf, Worker, tool_info};

#[cfg(test)]
mod tests;
