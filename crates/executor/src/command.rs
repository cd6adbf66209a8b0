//! `deskhand gateway login|logout|status`.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::address::Address;
use crate::error::{ExecutorError, Result};
use crate::executor::{sign_in, sign_out};
use crate::login::Credentials;
use crate::secret::{Kept, Vault, write_private};
use crate::status::Status;
use crate::tls;

/// The subcommands of `deskhand gateway` that concern this machine.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sign in to a gateway; the password is asked for, or read from stdin, and never kept.
    Login(Login),
    /// Sign out: the token is removed from this machine.
    Logout {
        /// Which worker.
        #[command(flatten)]
        place: Place,
    },
    /// Say who is signed in where, and whether it is connected.
    Status {
        /// As JSON.
        #[arg(long)]
        json: bool,
        /// Which worker.
        #[command(flatten)]
        place: Place,
    },
}

/// Which worker.
#[derive(Debug, Args)]
pub struct Place {
    /// State folder of the worker.
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// `login …`
#[derive(Debug, Args)]
pub struct Login {
    /// Address of the gateway, e.g. https://desk.example.org.
    #[arg(long)]
    url: String,
    /// Name there.
    #[arg(long)]
    user: String,
    /// Certificate authority (PEM) to trust beside the system's.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Accept that password, token and screen can be read on the way.
    #[arg(long)]
    allow_plain_http: bool,
    /// Keep the token in a private file even if there is a keyring.
    #[arg(long)]
    no_keyring: bool,
    #[command(flatten)]
    place: Place,
}

impl Command {
    /// The worker's state folder, if one was named.
    #[must_use]
    pub fn state_dir(&self) -> Option<&Path> {
        let (Self::Login(Login { place, .. }) | Self::Logout { place } | Self::Status { place, .. }) = self;
        place.state_dir.as_deref()
    }

    /// Runs it over the worker's state folder; what it prints goes to `out`, prompts to `err`.
    ///
    /// # Errors
    /// Every [`ExecutorError`]; its text is for the person.
    pub async fn run(self, state_dir: &Path, out: &mut (impl Write + Send), err: &mut (impl Write + Send)) -> Result<()> {
        match self {
            Self::Login(login) => log_in(login, state_dir, out, err).await,
            Self::Logout { .. } => {
                sign_out(state_dir, &Vault::new(state_dir)).await?;
                say(out, "Signed out.")
            }
            Self::Status { json, .. } => show(state_dir, json, out),
        }
    }
}

fn say(out: &mut impl Write, text: &str) -> Result<()> {
    let failed = |source| ExecutorError::File { what: "cannot write to", path: "standard output".into(), source };
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(failed)
}

async fn log_in(login: Login, state_dir: &Path, out: &mut (impl Write + Send), err: &mut (impl Write + Send)) -> Result<()> {
    let address = Address::parse(&login.url)?;
    if let Some(warning) = address.warning() {
        say(err, &format!("Warning: {warning}"))?;
    }
    let accepted = login.allow_plain_http;
    if !accepted && let Some(warning) = address.warning() {
        return Err(ExecutorError::PlainHttp(warning));
    }
    let pem = match &login.ca {
        None => None,
        Some(path) => Some(std::fs::read(path).map_err(|source| ExecutorError::File {
            what: "cannot read the CA file",
            path: path.clone(),
            source,
        })?),
    };
    let ca = login.ca.as_deref().map(tls::read_ca).transpose()?.unwrap_or_default();
    let password = read_password(&login.user, &address, err)?;
    let vault = if login.no_keyring { Vault::in_file(state_dir) } else { Vault::new(state_dir) };
    let credentials = Credentials { address: address.clone(), user: login.user.clone(), password, ca, plain_http_accepted: accepted };
    let kept = sign_in(state_dir, &vault, credentials, pem.as_deref()).await?;
    let place = match kept {
        Kept::Keyring => "the system's keyring",
        Kept::File => "a private file, because no keyring was used",
    };
    say(out, &format!("Signed in to {address} as {}. The token is kept in {place}.", login.user))?;
    say(out, "The desktop connects while AI control is authorised.")
}

/// One line of stdin; on a terminal asked for and not shown.
fn read_password(user: &str, address: &Address, err: &mut impl Write) -> Result<String> {
    let failed = |source| ExecutorError::File { what: "cannot read the password from", path: "standard input".into(), source };
    let mut line = String::new();
    if std::io::stdin().is_terminal() {
        write!(err, "Password of {user} at {address}: ").and_then(|()| err.flush()).map_err(failed)?;
        let _hidden = hide_typing();
        std::io::stdin().lock().read_line(&mut line).map_err(failed)?;
        say(err, "")?;
    } else {
        std::io::stdin().lock().read_line(&mut line).map_err(failed)?;
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Turns the terminal's echo off until dropped.
fn hide_typing() -> Option<impl Drop> {
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
    struct Shown(Termios);
    impl Drop for Shown {
        fn drop(&mut self) {
            let _gone = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
        }
    }
    let before = tcgetattr(std::io::stdin()).ok()?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    hidden.local_modes.insert(LocalModes::ECHONL);
    tcsetattr(std::io::stdin(), OptionalActions::Now, &hidden).ok()?;
    Some(Shown(before))
}

/// The running worker's word on its state.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    pid: u32,
    status: Status,
}

fn status_path(state_dir: &Path) -> PathBuf {
    state_dir.join("gateway-status.json")
}

/// Writes the status for `deskhand gateway status`.
pub(crate) fn write_status(state_dir: &Path, status: &Status) {
    let written = Written { pid: std::process::id(), status: status.clone() };
    let text = serde_json::to_vec(&written).unwrap_or_default();
    if let Err(error) = write_private(&status_path(state_dir), &text) {
        tracing::debug!(%error, "cannot write the gateway status");
    }
}

/// What a running worker says, else what the account's file says.
fn show(state_dir: &Path, json: bool, out: &mut impl Write) -> Result<()> {
    let written: Option<Written> = std::fs::read(status_path(state_dir)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let alive = written.filter(|written| runs(written.pid));
    let running = alive.is_some();
    let status = match alive {
        Some(written) => written.status,
        None => {
            let account = Account::load(state_dir)?;
            Status {
                server: account.as_ref().map(|account| account.server.clone()),
                user: account.map(|account| account.user),
                ..Status::default()
            }
        }
    };
    if json {
        let mut value = serde_json::to_value(&status).unwrap_or_default();
        value["running"] = running.into();
        return say(out, &value.to_string());
    }
    say(out, &status.sentence())?;
    if !running && status.server.is_some() {
        say(out, "No worker is running.")?;
    }
    Ok(())
}

fn runs(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}
