//! The command line of Deskhand. Each subcommand reads its arguments, calls the crate that does the work, and says how it
//! went: results on stdout, everything else on stderr, exit code 1 when it did not work.
#![allow(clippy::print_stdout, reason = "a command line answers on stdout")]

mod audit;
mod call;
mod connect;
mod doctor;
mod mcp;
mod serve;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use deskhand_app::{Order, ServeOptions, StateFolder};
use std::path::PathBuf;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// Lends an AI agent your desktop and browser, on your terms.
#[derive(Parser)]
#[command(name = "deskhand", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a worker without the tray app.
    Serve(Box<ServeOptions>),
    /// MCP for AI clients on this machine: start, stop, status, install, uninstall.
    #[command(subcommand)]
    Mcp(mcp::Command),
    /// Every tool, its parameters and its group.
    Tools {
        /// md for a page, json for data.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Call one tool of the running worker.
    Call(call::Call),
    /// What works on this machine and what does not, found out by doing it.
    Doctor(doctor::Doctor),
    /// The audit log: verify, export.
    #[command(subcommand)]
    Audit(audit::Command),
    /// Show a one-time code for pairing a browser with the running worker.
    Pair(In),
    /// Hold AI control: calls answer `paused` until `deskhand resume`.
    Pause(In),
    /// Let AI control go on after a pause.
    Resume(In),
    /// End AI control; the worker goes on running.
    Stop(In),
    /// Sign in to a gateway, or serve one.
    #[command(subcommand)]
    Gateway(Gateway),
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Format {
    #[default]
    Md,
    Json,
}

/// Which worker.
#[derive(clap::Args)]
struct In {
    /// State folder of the worker.
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Gateway {
    #[command(flatten)]
    Server(deskhand_gateway::Command),
    #[command(flatten)]
    Account(AccountCommand),
}

#[derive(Subcommand)]
enum AccountCommand {
    #[command(flatten)]
    Command(deskhand_app::GatewayAccountCommand),
}

fn main() {
    let cli = Cli::parse();
    if let Err(error) = run(cli.command) {
        eprintln!("deskhand: {error:#}");
        std::process::exit(1);
    }
    // A blocked read of stdin must not keep the process alive.
    std::process::exit(0);
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Serve(options) => serve::serve(*options),
        Command::Mcp(command) => mcp::run(command),
        Command::Tools { format } => {
            // The session's watcher is started by the engines' handles, and wants a runtime.
            let tools = runtime()?.block_on(async { deskhand_app::declared_tools() })?;
            match format {
                Format::Md => print!("{}", deskhand_app::as_markdown(tools.iter())),
                Format::Json => print!("{}", deskhand_app::as_json(tools.iter())),
            }
            Ok(())
        }
        Command::Call(call) => runtime()?.block_on(call.run()),
        Command::Doctor(doctor) => doctor.run(),
        Command::Audit(command) => command.run(),
        Command::Pair(at) => pair(&at),
        Command::Pause(at) => give(&at, Order::Pause),
        Command::Resume(at) => give(&at, Order::Resume),
        Command::Stop(at) => give(&at, Order::Stop),
        Command::Gateway(command) => gateway(command),
    }
}

/// A runtime for commands that are over soon.
fn runtime() -> Result<tokio::runtime::Runtime> {
    log();
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

/// Logs go to stderr; `RUST_LOG` chooses, warnings by default.
fn log() {
    let _ = tracing_subscriber::fmt().with_env_filter(filter()).with_writer(std::io::stderr).try_init();
}

/// The same as JSON, one object a line.
fn log_json() {
    let _ = tracing_subscriber::fmt().json().flatten_event(true).with_env_filter(filter()).with_writer(std::io::stderr).try_init();
}

/// Libraries that write down whatever passes through them, typed text too. However much `RUST_LOG` asks for, they only warn.
const TALKATIVE: [&str; 6] = ["rmcp", "tungstenite", "tokio_tungstenite", "chromiumoxide", "hyper", "zbus"];

fn filter() -> EnvFilter {
    let chosen = EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn,deskhand=info".into());
    if chosen.max_level_hint().is_some_and(|most| most <= LevelFilter::WARN) {
        return chosen;
    }
    TALKATIVE.iter().filter_map(|name| format!("{name}=warn").parse().ok()).fold(chosen, EnvFilter::add_directive)
}

fn give(at: &In, order: Order) -> Result<()> {
    let state = StateFolder::open(at.state_dir.as_deref())?;
    let answer = runtime()?.block_on(deskhand_app::order(&state, order))?;
    println!("AI control: {}", describe(&answer["control"]));
    Ok(())
}

fn pair(at: &In) -> Result<()> {
    let state = StateFolder::open(at.state_dir.as_deref())?;
    let answer = runtime()?.block_on(deskhand_app::order(&state, Order::Pair))?;
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    println!(
        "Code:    {}\nAddress: {}\n\nType both into the popup of the Deskhand extension within 2 minutes.",
        text("code"),
        text("address")
    );
    Ok(())
}

/// What the gate stands at, in words.
fn describe(control: &serde_json::Value) -> String {
    let why = control["why"].as_str().unwrap_or_default();
    match control["state"].as_str() {
        Some("authorised") => {
            let groups: Vec<_> = control["groups"].as_array().into_iter().flatten().filter_map(|g| g.as_str()).collect();
            format!("on, for {}", groups.join(", "))
        }
        Some("paused") => format!("paused: {why}"),
        _ => format!("off: {why}"),
    }
}

fn gateway(command: Gateway) -> Result<()> {
    if matches!(&command, Gateway::Server(command) if command.log_format() == deskhand_gateway::LogFormat::Json) {
        // The first to be set is the one that holds.
        log_json();
    }
    let runtime = runtime()?;
    match command {
        Gateway::Server(command) => Ok(runtime.block_on(command.run(include_str!("../tools/tools.json"), &mut std::io::stdout()))?),
        Gateway::Account(AccountCommand::Command(command)) => {
            let state = StateFolder::open(command.state_dir())?;
            Ok(runtime.block_on(command.run(state.path(), &mut std::io::stdout(), &mut std::io::stderr()))?)
        }
    }
}
