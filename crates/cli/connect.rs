//! `deskhand mcp install|uninstall`, and what `deskhand mcp status` says of the AI clients on this machine.

use anyhow::{Context, Result};
use deskhand_app::StateFolder;
use deskhand_connect::{Action, Client, ClientStatus, Connection, Environment, Scope};
use std::path::PathBuf;

/// Which client, and where.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// claude, claude-code, cursor, vscode, copilot, windsurf, zed, codex, gemini, cline, goose or opencode.
    #[arg(long, value_name = "NAME", required = true)]
    target: Vec<String>,
    /// The settings in this project's folder instead of your own.
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    at: super::In,
}

impl Which {
    /// The state folder that was named.
    pub(crate) fn state_dir(&self) -> Option<&std::path::Path> {
        self.at.state_dir.as_deref()
    }
}

/// Shows the exact change for each client, then makes it.
pub(crate) fn change(action: Action, which: &Which) -> Result<()> {
    let state = StateFolder::open(which.at.state_dir.as_deref())?;
    let (binary, environment) = (binary()?, environment()?);
    let scope = match &which.project {
        Some(folder) => Scope::Project(folder.canonicalize().with_context(|| folder.display().to_string())?),
        None => Scope::User,
    };
    let clients = which.target.iter().map(|name| name.parse()).collect::<Result<Vec<Client>, _>>()?;
    for client in clients {
        let plan = deskhand_connect::plan(action, client, scope.clone(), &binary, &environment, state.path())?;
        print!("{}", plan.preview());
        if which.dry_run || plan.is_done() {
            continue;
        }
        let applied = plan.apply(state.path())?;
        for backup in applied.backups {
            println!("What was there is kept in {}", backup.display());
        }
        match action {
            Action::Install => println!("{} is connected. {}", client.title(), applied.next_step),
            Action::Uninstall => println!("{} is disconnected.", client.title()),
        }
    }
    Ok(())
}

/// How the clients stand.
pub(crate) fn clients(state: &StateFolder) -> Result<Vec<ClientStatus>> {
    Ok(deskhand_connect::status(&binary()?, &environment()?, state.path()))
}

/// One line for each client that is here or has an entry of ours.
pub(crate) fn print(clients: &[ClientStatus]) {
    for client in clients.iter().filter(|client| client.found || client.connection != Connection::NotConnected) {
        let state = match &client.connection {
            Connection::NotConnected => format!("not connected (deskhand mcp install --target {})", client.client),
            Connection::Connected => "connected".into(),
            Connection::Revoked => format!("its token was revoked; connect it again (deskhand mcp install --target {})", client.client),
            Connection::Differs { starts } => {
                format!("its entry starts {starts}; connect it again (deskhand mcp install --target {})", client.client)
            }
            Connection::Unreadable { reason } => format!("its settings cannot be read: {reason}"),
        };
        println!("{:<20} {state}", client.title);
    }
}

/// This program. A link to it is not followed where the system lets us tell: package managers move what is behind it.
fn binary() -> Result<PathBuf> {
    std::env::current_exe().context("this program does not know where it is")
}

fn environment() -> Result<Environment> {
    Environment::of_this_process().context("there is no home folder (HOME is not set)")
}
