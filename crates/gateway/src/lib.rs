//! Deskhand's gateway: a server that many workers register with and agents call.
//!
//! Executors connect by WebSocket ([`hub`]); agents speak MCP to it ([`web`]); people see a status page. What it keeps
//! is in [`store`]. The wire is fixed by the gateway contract; what this gateway adds is used only with peers that
//! announced it.

mod access;
mod answer;
mod catalogue;
mod command;
mod cron;
mod error;
mod gateway;
mod hub;
mod journal;
mod keys;
mod metrics;
mod password;
mod platform;
mod server;
mod settings;
mod skills;
mod store;
mod throttle;
mod tls;
mod upstream;
mod web;

pub use command::Command;
pub use cron::{Schedule, Webhook};
pub use error::{GatewayError, Result};
pub use gateway::{Gateway, Parts, ServiceName};
pub use hub::{CALL_TIMEOUT, Hub, HubLimits, Service};
pub use keys::ServerKey;
pub use password::hash as hash_password;
pub use server::{Ready, Running, start};
pub use settings::{LogFormat, Place, Serve};
pub use store::{Folder, Store};
pub use upstream::ServerSpec;
