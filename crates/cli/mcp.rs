//! `deskhand mcp start|stop|status`: MCP for AI clients on this machine.

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use deskhand_app::{Order, Policy, ServeOptions, StateFolder};
use deskhand_connect::Action;
use serde_json::json;
use std::path::PathBuf;
use std::process::Stdio;

/// See the module.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Speak MCP on stdin and stdout (what a client's configuration starts), or serve it over HTTP.
    Start(Start),
    /// Connect an AI client on this machine: its configuration gets an entry, the change is shown before it is made.
    Install(Install),
    /// Take our entry out of a client's configuration again; nothing else in it is touched.
    Uninstall(super::connect::Which),
    /// End the running worker.
    Stop(super::In),
    /// What runs and what is installed.
    Status {
        #[command(flatten)]
        at: super::In,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Which client, and what a worker that it starts may do.
#[derive(clap::Args)]
pub(crate) struct Install {
    #[command(flatten)]
    which: super::connect::Which,
    /// Groups that a worker started by a client allows, separated by commas, or `all`; kept for later starts.
    #[arg(long, value_name = "GROUP,…", value_parser = deskhand_app::GroupSet::parse)]
    authorize: Option<deskhand_app::GroupSet>,
    /// A folder that agents may use in such a worker; may be given several times.
    #[arg(long = "allow-dir", value_name = "DIR")]
    allow_dirs: Vec<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct Start {
    /// The connected client whose token is used.
    #[arg(long, value_name = "NAME", conflicts_with = "http")]
    client: Option<String>,
    #[command(flatten)]
    at: super::In,
    /// Serve over HTTP instead, with the policy that `mcp install` saved.
    #[arg(long)]
    http: bool,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1", requires = "http")]
    host: String,
    /// Port to listen on.
    #[arg(long, default_value_t = 47800, requires = "http")]
    port: u16,
    /// File with the token; an empty one refuses everybody.
    #[arg(long, value_name = "FILE", requires = "http")]
    auth_token_file: Option<PathBuf>,
    /// Make a new token first, instead of keeping the one there is.
    #[arg(long, requires = "http", conflicts_with = "auth_token_file")]
    generate_token: bool,
    /// Return once it serves, printing process id, URL and log.
    #[arg(long, requires = "http")]
    background: bool,
    /// Say nothing but errors.
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Start(start) if start.background => in_background(&start),
        Command::Start(start) if start.http => super::serve::serve(http_options(&start)?),
        Command::Start(start) => {
            let state = StateFolder::open(start.at.state_dir.as_deref())?;
            super::runtime()?.block_on(deskhand_app::bridge_stdio(state, start.client, defaults(start.at.state_dir)))
        }
        Command::Stop(at) => {
            let state = StateFolder::open(at.state_dir.as_deref())?;
            let worker = state.running().context("no worker runs in this state folder")?;
            super::runtime()?.block_on(async {
                deskhand_app::order(&state, Order::Quit).await?;
                deskhand_app::wait_until_gone(&state, std::time::Duration::from_secs(10)).await
            })?;
            println!("stopped process {}", worker.pid);
            Ok(())
        }
        Command::Status { at, json } => status(&at, json),
        Command::Install(install) => connect(install),
        Command::Uninstall(which) => super::connect::change(Action::Uninstall, &which),
    }
}

/// Connects the client; the policy is saved first, so that a client that starts at once finds it.
fn connect(install: Install) -> Result<()> {
    if install.authorize.is_some() || !install.allow_dirs.is_empty() {
        let state = StateFolder::open(install.which.state_dir())?;
        let mut policy = Policy::load(&state)?;
        policy.groups = install.authorize.unwrap_or(policy.groups);
        for folder in install.allow_dirs {
            let folder = std::fs::canonicalize(&folder).with_context(|| format!("the folder {} is not there", folder.display()))?;
            if !policy.allow_dirs.contains(&folder) {
                policy.allow_dirs.push(folder);
            }
        }
        policy.save(&state)?;
    }
    super::connect::change(Action::Install, &install.which)
}

fn defaults(state_dir: Option<PathBuf>) -> ServeOptions {
    ServeOptions { state_dir, mcp_servers: std::env::var("EXTRA_MCP_SERVERS").ok(), ..ServeOptions::default() }
}

fn http_options(start: &Start) -> Result<ServeOptions> {
    let state = StateFolder::open(start.at.state_dir.as_deref())?;
    let policy = Policy::load(&state)?;
    if start.generate_token {
        let _ = std::fs::remove_file(state.join("token"));
    }
    let host = if start.host.contains(':') && !start.host.starts_with('[') { format!("[{}]", start.host) } else { start.host.clone() };
    Ok(ServeOptions {
        listen: format!("{host}:{}", start.port),
        token_file: start.auth_token_file.clone(),
        authorize: policy.groups,
        allow_dirs: policy.allow_dirs,
        ready_json: true,
        ..defaults(start.at.state_dir.clone())
    })
}

/// Starts the same command again, detached, and waits for its ready line. Tokens go by file, never by argument.
fn in_background(start: &Start) -> Result<()> {
    let state = StateFolder::open(start.at.state_dir.as_deref())?;
    if start.generate_token {
        let _ = std::fs::remove_file(state.join("token"));
    }
    let log = state.join("worker.log");
    let file =
        std::fs::OpenOptions::new().create(true).append(true).open(&log).with_context(|| format!("{} cannot be written", log.display()))?;
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.args(["mcp", "start", "--http", "--host", &start.host, "--port", &start.port.to_string(), "--state-dir"]).arg(state.path());
    if let Some(token) = &start.auth_token_file {
        command.arg("--auth-token-file").arg(std::path::absolute(token)?);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line)?;
    }
    let Ok(ready) = serde_json::from_str::<serde_json::Value>(&line) else {
        let _ = child.wait();
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        bail!("the worker did not start: {}", said.lines().last().unwrap_or("it said nothing"));
    };
    println!("pid {}\nurl {}\nlog {}", ready["pid"], ready["mcp_url"].as_str().unwrap_or_default(), log.display());
    Ok(())
}

fn status(at: &super::In, as_json: bool) -> Result<()> {
    let state = StateFolder::open(at.state_dir.as_deref())?;
    let running = state.running();
    let tools = super::runtime()?.block_on(async { deskhand_app::declared_tools() })?.len();
    let authorised = std::fs::read_to_string(state.join("token")).is_ok_and(|t| !t.trim().is_empty());
    let clients = super::connect::clients(&state)?;
    let mut report = json!({
        "server": "deskhand", "version": deskhand_app::VERSION, "transport": "stdio, streamable-http, sse", "tools": tools,
        "auth_configured": authorised, "running": running.as_ref().map(|w| json!({ "pid": w.pid, "url": w.mcp_url })),
    });
    for client in &clients {
        let connected = json!(client.connection == deskhand_connect::Connection::Connected);
        let name = client.client.to_string();
        // Some readers want a plain identifier, some the name as it is.
        report[format!("installed_{}", name.replace('-', "_"))] = connected.clone();
        report[format!("installed_{name}")] = connected;
    }
    if as_json {
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(());
    }
    match running {
        Some(worker) => println!("running: process {}, {}", worker.pid, worker.mcp_url),
        None => println!("not running; start it with `deskhand serve`, or let a client start it"),
    }
    println!("{tools} tools, version {}", deskhand_app::VERSION);
    super::connect::print(&clients);
    Ok(())
}
