//! The worker's way to a gateway: signing in, the token, and one WebSocket per service.
//!
//! The executor is a door like the others: it translates frames to [`Desk`] calls and back, and decides nothing about
//! what a caller may do. What it adds is on the wire: each call runs at most once and never late, and a lost gateway is
//! found again.

mod account;
mod address;
mod backoff;
mod clock;
mod command;
mod desk;
mod error;
mod executor;
mod frames;
mod keeper;
mod ledger;
mod login;
mod network;
mod secret;
mod socket;
mod status;
mod tls;

pub use account::Account;
pub use address::{Address, Service};
pub use command::{Command, Login, Place};
pub use desk::{Desk, DeskCall};
pub use error::{ExecutorError, Result};
pub use executor::{Executor, Source, authorised, sign_in, sign_out};
pub use login::Credentials;
pub use secret::{Kept, Token, Vault};
pub use status::{SocketState, Status};
pub use tls::{install_provider, read_ca};
