//! The composition root: state folder, settings, engines, gate, doors and the one loopback listener, put together into a
//! [`Worker`]. The command line and the tray app are thin shells over this crate.

mod bridge;
mod browser_page;
mod cdp_route;
mod client;
mod control;
mod doctor;
mod engines;
mod gateway;
mod held;
mod instance;
mod options;
mod peer;
pub mod person;
mod relay_route;
mod signals;
mod state;
mod tokens;
mod watch;
mod worker;

pub use bridge::{Policy, bridge_stdio};
pub use browser_page::open_extension_page;
pub use client::{base64_decode, post, wait_until_gone};
pub use control::{Order, order};
pub use doctor::{Check, Report, examine};
pub use instance::Instance;
pub use options::{BrowserChoice, OcrChoice, ServeOptions, Size, Takeover};
pub use signals::signalled;
pub use state::{RunningWorker, StateFolder};
pub use tokens::TokenBook;
pub use worker::{Worker, WorkerParts};

/// Version of the product, as every door states it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The subcommands of `deskhand gateway` that concern this machine.
pub use deskhand_executor::Command as GatewayAccountCommand;
/// Signing in to a gateway and its state, for the tray app.
pub use deskhand_executor::{Address as GatewayAddress, Credentials, Executor, SocketState, Status as GatewayStatus};

/// Every tool as it is declared, without opening anything.
///
/// # Errors
/// When no temporary folder can be made.
pub fn declared_tools() -> anyhow::Result<Vec<std::sync::Arc<deskhand_core::ToolInfo>>> {
    worker::declared()
}
/// The pages derived from the declarations.
pub use deskhand_tools::{as_json, as_markdown};

pub use deskhand_core::audit;
pub use deskhand_core::{Gate, GroupSet};
/// Windows of the tray app, which no agent may touch.
pub use deskhand_desktop::own as own_windows;
pub use deskhand_desktop::virtual_display::VirtualDisplay;
