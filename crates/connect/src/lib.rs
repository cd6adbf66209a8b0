//! The AI clients on this machine: find them, connect them to Deskhand, disconnect them, tell how they stand.
//!
//! A change is made in two steps. [`plan`] reads the client's file and says exactly what would change ([`Plan`], with a
//! diff for each file); [`Plan::apply`] does that and nothing else, and refuses when a file changed in between. Files
//! belong to the person: other servers, comments, order and line ends stay as they are, a file that cannot be
//! understood is left untouched, and what was there is backed up in the state folder.
//!
//! Entries are stdio everywhere (`deskhand mcp start --client NAME` with the absolute path of the binary), so no token
//! ever stands in a client's file: it is kept in `STATE/clients/NAME` (see [`clients`]).

mod client;
pub mod clients;
mod edit;
mod environment;
mod error;
mod file;
mod places;
mod plan;
mod status;

pub use client::Client;
pub use environment::{Environment, Os};
pub use error::ConnectError;
pub use plan::{Action, Applied, FileChange, Plan, Scope, plan};
pub use status::{ClientStatus, Connection, FileStatus, status};
