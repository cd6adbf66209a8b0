//! `deskhand gateway serve|user|token|server|grant|folder`: the gateway's part of the command line.
//!
//! All but `serve` work on the database and may run beside a serving gateway, which notices within seconds.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::error::{GatewayError, Result};
use crate::keys::ServerKey;
use crate::settings::{LogFormat, Place, Serve};
use crate::store::{Folder, Store};
use crate::upstream::ServerSpec;

/// The subcommands of `deskhand gateway` that concern the server.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the gateway until SIGINT or SIGTERM.
    Serve(ServeArgs),
    /// Users: add, list, remove, passwd.
    User(Sub<UserCommand>),
    /// Tokens: show, reset.
    Token(Sub<TokenCommand>),
    /// Third-party MCP servers: add, list, remove.
    Server(Sub<ServerCommand>),
    /// Who may use which third-party server: add, list, remove.
    Grant(Sub<GrantCommand>),
    /// Shared folders: add, list, remove.
    Folder(Sub<FolderCommand>),
}

/// `serve` and where the state lies.
#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    serve: Serve,
}

/// A group of commands and where the state lies.
#[derive(Debug, Args)]
pub struct Sub<T: Subcommand> {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    command: T,
}

/// `user …`
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Add a user. The password is read from --password-file or from stdin.
    Add {
        /// Their name.
        name: String,
        /// Administers on the status page; may not be a worker.
        #[arg(long)]
        superadmin: bool,
        /// File whose first line is the password.
        #[arg(long, value_name = "FILE")]
        password_file: Option<PathBuf>,
    },
    /// List the users.
    List,
    /// Remove a user with sessions, grants and cron entries.
    Remove {
        /// Their name.
        name: String,
    },
    /// Set a new password, from --password-file or from stdin; ends the user's sessions.
    Passwd {
        /// Their name.
        name: String,
        /// File whose first line is the password.
        #[arg(long, value_name = "FILE")]
        password_file: Option<PathBuf>,
    },
}

/// `token …`
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Print a user's token.
    Show {
        /// Whose.
        user: String,
    },
    /// Make a user's token void; executors and agents with it are turned away.
    Reset {
        /// Whose.
        user: String,
    },
}

/// `server …`
#[derive(Debug, Subcommand)]
pub enum ServerCommand {
    /// Add a server: `add NAME --url URL [--sse] [--header N=V]…` or `add NAME [--env N=V]… -- COMMAND [ARGS]…`.
    Add {
        /// Its name; its tools appear as mcp_NAME_TOOL.
        name: String,
        /// Address of an HTTP server.
        #[arg(long, conflicts_with = "command")]
        url: Option<String>,
        /// The server speaks the older HTTP+SSE.
        #[arg(long, requires = "url")]
        sse: bool,
        /// A header of every request, NAME=VALUE; @FILE as value reads the file.
        #[arg(long = "header", value_name = "N=V", requires = "url")]
        headers: Vec<String>,
        /// A variable of the program's environment, NAME=VALUE; @FILE as value reads the file.
        #[arg(long = "env", value_name = "N=V", conflicts_with = "url")]
        env: Vec<String>,
        /// Program and arguments of a stdio server.
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// List the servers (without their secrets).
    List,
    /// Remove a server and its grants.
    Remove {
        /// Its name.
        name: String,
    },
}

/// `grant …`
#[derive(Debug, Subcommand)]
pub enum GrantCommand {
    /// Let a user (or `*`, everyone) use a server.
    Add {
        /// The server.
        server: String,
        /// The user, or `*`.
        user: String,
    },
    /// List the grants.
    List,
    /// Take a grant back.
    Remove {
        /// The server.
        server: String,
        /// The user, or `*`.
        user: String,
    },
}

/// `folder …`
#[derive(Debug, Subcommand)]
pub enum FolderCommand {
    /// Add a shared folder.
    Add {
        /// Its name.
        name: String,
        /// Where it is.
        path: String,
        /// What is in it.
        #[arg(long, default_value = "")]
        description: String,
        /// Who may use it: names with commas between, or `*`.
        #[arg(long, default_value = "*")]
        who: String,
    },
    /// List the shared folders.
    List,
    /// Remove a shared folder's entry (nothing on disk).
    Remove {
        /// Its name.
        name: String,
    },
}

impl Command {
    /// The form of the log that was asked for.
    #[must_use]
    pub fn log_format(&self) -> LogFormat {
        match self {
            Self::Serve(args) => args.serve.log_format,
            _ => LogFormat::Text,
        }
    }

    /// Runs the command; what it prints goes to `out`. `tools` is the generated tool list.
    ///
    /// # Errors
    /// Every [`GatewayError`]; its text is for the person.
    pub async fn run(self, tools: &'static str, out: &mut (impl Write + Send)) -> Result<()> {
        match self {
            Self::Serve(args) => serve(&args, tools, out).await,
            Self::User(sub) => user(&open(&sub.place).await?, sub.command, out).await,
            Self::Token(sub) => token(&sub.place, sub.command, out).await,
            Self::Server(sub) => server(&open(&sub.place).await?, sub.command, out).await,
            Self::Grant(sub) => grant(&open(&sub.place).await?, sub.command, out).await,
            Self::Folder(sub) => folder(&open(&sub.place).await?, sub.command, out).await,
        }
    }
}

async fn open(place: &Place) -> Result<Store> {
    Store::open(&place.database_url()?).await
}

fn say(out: &mut impl Write, text: &str) -> Result<()> {
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(GatewayError::file("cannot write to", "standard output"))
}

async fn serve(args: &ServeArgs, tools: &'static str, out: &mut impl Write) -> Result<()> {
    let signal = |kind| tokio::signal::unix::signal(kind).map_err(GatewayError::file("cannot watch for", "signals"));
    let mut terminate = signal(tokio::signal::unix::SignalKind::terminate())?;
    let mut interrupt = signal(tokio::signal::unix::SignalKind::interrupt())?;
    raise_file_limit();
    let running = crate::server::start(&args.place, &args.serve, tools).await?;
    if args.serve.ready_json {
        say(out, &serde_json::to_string(&running.ready).unwrap_or_default())?;
    }
    tracing::info!(url = running.ready.url, "gateway serves");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("gateway goes down");
    tokio::select! {
        () = running.stop() => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// Each executor is an open file, and the usual soft limit is 1,024: goes up to what the system allows.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files stays as it is; many executors may not fit");
    }
}

/// The first line of the file, or of stdin.
fn read_password(file: Option<&PathBuf>) -> Result<String> {
    let mut text = String::new();
    match file {
        Some(path) => text = std::fs::read_to_string(path).map_err(GatewayError::file("cannot read the password", path))?,
        None => {
            if std::io::stdin().is_terminal() {
                tracing::info!("type the password and press Enter (it is shown; use --password-file to avoid that)");
                std::io::stdin().read_line(&mut text).map_err(GatewayError::file("cannot read from", "standard input"))?;
            } else {
                let mut limited = std::io::stdin().take(64 << 10);
                limited.read_to_string(&mut text).map_err(GatewayError::file("cannot read from", "standard input"))?;
            }
        }
    }
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

async fn user(store: &Store, command: UserCommand, out: &mut impl Write) -> Result<()> {
    match command {
        UserCommand::Add { name, superadmin, password_file } => {
            let hash = crate::password::hash(read_password(password_file.as_ref())?).await?;
            store.add_user(&name, &hash, superadmin).await?;
            say(out, &format!("added {name}"))
        }
        UserCommand::List => {
            for user in store.users().await? {
                say(out, &format!("{}{}", user.name, if user.is_superadmin() { "\tsuperadmin" } else { "" }))?;
            }
            Ok(())
        }
        UserCommand::Remove { name } => {
            store.remove_user(&name).await?;
            say(out, &format!("removed {name}"))
        }
        UserCommand::Passwd { name, password_file } => {
            let hash = crate::password::hash(read_password(password_file.as_ref())?).await?;
            store.set_password(&name, &hash).await?;
            say(out, &format!("changed the password of {name}"))
        }
    }
}

async fn token(place: &Place, command: TokenCommand, out: &mut impl Write) -> Result<()> {
    let store = open(place).await?;
    match command {
        TokenCommand::Show { user } => {
            let key = ServerKey::load(&place.folder()?.join("gateway.key"))?;
            let found = store.user(&user).await?.ok_or(GatewayError::Missing { kind: "user", name: user })?;
            if found.is_superadmin() {
                return Err(GatewayError::Invalid("a superadmin has no token; use an ordinary user".into()));
            }
            say(out, &key.token(&found.name, found.generation))
        }
        TokenCommand::Reset { user } => {
            store.raise_generation(&user).await?;
            say(out, &format!("reset the token of {user}; executors and agents have to sign in again"))
        }
    }
}

/// `NAME=VALUE` pairs; a value `@FILE` is read from the file, so that a secret need not stand in the command line.
fn pairs(texts: &[String]) -> Result<BTreeMap<String, String>> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| GatewayError::Invalid("headers and variables are given as NAME=VALUE or NAME=@FILE".into()))?;
        let value = match value.strip_prefix('@') {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(GatewayError::file("cannot read the value", path))?;
                text.trim_end_matches(['\r', '\n']).to_owned()
            }
            None => value.to_owned(),
        };
        Ok((name.to_owned(), value))
    };
    texts.iter().map(pair).collect()
}

async fn server(store: &Store, command: ServerCommand, out: &mut impl Write) -> Result<()> {
    match command {
        ServerCommand::Add { name, url, sse, headers, env, command } => {
            let spec = match (url, command.split_first()) {
                (Some(url), None) if sse => ServerSpec::Sse { url, headers: pairs(&headers)? },
                (Some(url), None) => ServerSpec::Http { url, headers: pairs(&headers)? },
                (None, Some((program, args))) => ServerSpec::Stdio { command: program.clone(), args: args.to_vec(), env: pairs(&env)? },
                _ => return Err(GatewayError::Invalid("give either --url URL or -- COMMAND [ARGS]…".into())),
            };
            store.add_server(&name, &spec).await?;
            say(out, &format!("added {name}; let users use it with `deskhand gateway grant add {name} USER`"))
        }
        ServerCommand::List => {
            for row in store.servers().await? {
                say(out, &format!("{}\t{}", row.name, row.spec.summary()))?;
            }
            Ok(())
        }
        ServerCommand::Remove { name } => {
            store.remove_server(&name).await?;
            say(out, &format!("removed {name}"))
        }
    }
}

async fn grant(store: &Store, command: GrantCommand, out: &mut impl Write) -> Result<()> {
    match command {
        GrantCommand::Add { server, user } => {
            store.add_grant(&server, &user).await?;
            say(out, &format!("{user} may use {server}"))
        }
        GrantCommand::List => {
            for (server, user) in store.grants().await? {
                say(out, &format!("{server}\t{user}"))?;
            }
            Ok(())
        }
        GrantCommand::Remove { server, user } => {
            store.remove_grant(&server, &user).await?;
            say(out, &format!("{user} may not use {server} any more"))
        }
    }
}

async fn folder(store: &Store, command: FolderCommand, out: &mut impl Write) -> Result<()> {
    match command {
        FolderCommand::Add { name, path, description, who } => {
            store.add_folder(&Folder { name: name.clone(), description, path, who }).await?;
            say(out, &format!("added {name}"))
        }
        FolderCommand::List => {
            for row in store.folders().await? {
                say(out, &format!("{}\t{}\t{}\t{}", row.name, row.path, row.who, row.description))?;
            }
            Ok(())
        }
        FolderCommand::Remove { name } => {
            store.remove_folder(&name).await?;
            say(out, &format!("removed {name}"))
        }
    }
}
