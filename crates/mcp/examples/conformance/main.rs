//! The fixtures that the official MCP conformance suite asks for, served by the same stack as the worker.
//!
//! The suite wants tools, prompts and resources that no product has. They live here, so that what is tested is the
//! transport: `scripts/conformance.sh` starts this, prints its address, and runs every revision against it.

mod handler;
mod prompts;
mod resources;
mod rounds;
mod tools;

use std::io::Write as _;
use std::sync::Arc;

use deskhand_mcp::{Endpoint, EndpointConfig, Server, Tokens};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use handler::{Fixture, Shared};

/// The suite cannot send a token, so `scripts/conformance.sh` puts a proxy in between that adds this one.
const TOKEN: &str = "conformance";

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let shared = Arc::new(Shared::new()?);
    let endpoint = Endpoint::with_handler(move || Fixture::new(Arc::clone(&shared)), EndpointConfig::default())?;
    let server = Server::new(endpoint, Arc::new(Tokens::new([("suite", TOKEN)])));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    let stop = CancellationToken::new();
    let ended = stop.clone();
    tokio::spawn(async move {
        // The script holds our input open; when it goes away, so do we.
        let mut rest = Vec::new();
        let _ = tokio::io::stdin().read_to_end(&mut rest).await;
        ended.cancel();
    });
    server.serve(listener, stop).await?;
    Ok(())
}
