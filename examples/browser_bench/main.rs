//! The browser's measurements, side by side in one run: Deskhand's managed Chromium, Deskhand through the extension, and
//! `@playwright/mcp`, with the same Chromium, headless, and the same pages, each over MCP as it is used; and the raw round
//! trip of the DevTools protocol as the floor. Absolute times depend on the machine, ratios do not.
//!
//! Deskhand is called over HTTP with one connection, `@playwright/mcp` over stdio, its quickest door. The page counts what
//! arrives: a row whose clicks or texts did not arrive ends the run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark ends loudly at the first thing that is not right"
)]

#[path = "../../tests/support/person.rs"]
#[allow(dead_code, reason = "the tests need more of it")]
mod person;

mod agents;
mod pages;

use agents::{Agent, Deskhand, Playwright};
use pages::Pages;
use person::Person;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// How often each action is measured.
const ROUNDS: usize = 40;

/// Median and 99th percentile, in milliseconds.
type Times = (f64, f64);

async fn times(rounds: usize, mut action: impl AsyncFnMut(usize)) -> Times {
    for warm in 0..3 {
        action(warm).await;
    }
    let mut all = Vec::with_capacity(rounds);
    for round in 3..rounds + 3 {
        let begun = Instant::now();
        action(round).await;
        all.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    all.sort_by(f64::total_cmp);
    (all[rounds / 2], all[(rounds * 99) / 100])
}

/// What one agent's browser did, in the order of [`ACTIONS`].
type Row = [Times; 4];
const ACTIONS: [&str; 4] = ["navigate + content", "click", "type", "screenshot"];

async fn measured(agent: &mut dyn Agent, pages: &Pages) -> Row {
    let navigate = times(ROUNDS, async |n| {
        let read = agent.open(&pages.url(n)).await;
        assert!(read.contains(&Pages::mark(n)), "another page than the {n}th was read: {read:.300}");
    })
    .await;
    agent.open(&pages.url(0)).await;
    let before = pages.clicks();
    let click = times(ROUNDS, async |_| agent.click("#go").await).await;
    pages.arrived("clicks", || pages.clicks() == before + ROUNDS + 3).await;
    let kind = times(ROUNDS, async |n| agent.fill("#field", &format!("text {n} 漢字")).await).await;
    let last = format!("text {} 漢字", ROUNDS + 2);
    pages.arrived("the last text", || pages.text() == last).await;
    let picture = times(ROUNDS, async |_| agent.picture().await).await;
    let row = [navigate, click, kind, picture];
    ACTIONS.iter().zip(row).for_each(|(action, (p50, p99))| println!("  {action}: p50 {p50:.1} ms, p99 {p99:.1} ms"));
    row
}

/// The raw round trip: one command that the page's process answers, and nothing around it.
async fn floor(person: &Person, pages: &Pages) -> Times {
    let target = person.open(&pages.url(0)).await;
    let page = person.find("a page", |t| t["targetId"] == target.as_str()).await;
    let measured = times(300, async |_| drop(page.eval("1").await)).await;
    page.close().await;
    measured
}

fn table(floor: Times, rows: &[(&str, Row)]) {
    println!("\nraw CDP round trip (floor): p50 {:.2} ms, p99 {:.2} ms\n", floor.0, floor.1);
    print!("{:<22}", "");
    rows.iter().for_each(|(name, _)| print!("{name:>34}"));
    println!();
    for (at, action) in ACTIONS.iter().enumerate() {
        print!("{action:<22}");
        for (_, row) in rows {
            let (p50, p99) = row[at];
            print!("{:>34}", format!("p50 {p50:7.1} p99 {p99:7.1} ({:4.0} x)", p50 / floor.0));
        }
        println!();
    }
    println!("\nmilliseconds; in brackets the median in raw round trips");
    let Some((_, other)) = rows.iter().find(|(name, _)| name.starts_with("@playwright")) else { return };
    for (name, row) in rows.iter().filter(|(name, _)| !name.starts_with("@playwright")) {
        let ratios =
            (0..ACTIONS.len()).map(|at| format!("{} {:.1} / {:.1}", ACTIONS[at], other[at].0 / row[at].0, other[at].1 / row[at].1));
        println!("{name} is faster by (p50 / p99): {}", ratios.collect::<Vec<_>>().join(", "));
    }
}

/// The program of `@playwright/mcp`, fetched once by npm; none when that is not possible.
fn playwright() -> Option<PathBuf> {
    const PACKAGE: &str = "@playwright/mcp@0.0.83";
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/mcp-tools.sh");
    let order = format!(". '{}' && tools_npm playwright-mcp {PACKAGE} && echo \"$DESKHAND_TOOLS\"", script.display());
    let said = Command::new("bash").args(["-c", &order]).stdin(Stdio::null()).stderr(Stdio::inherit()).output().ok()?;
    let folder = String::from_utf8(said.stdout).ok()?;
    let program = Path::new(folder.trim()).join("playwright-mcp/node_modules/@playwright/mcp/cli.js");
    (said.status.success() && program.exists()).then_some(program)
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let bin = arguments.iter().position(|a| a == "--bin").and_then(|i| arguments.get(i + 1));
    let bin = bin.expect("usage: browser_bench --bin DESKHAND");
    let (pages, folder) = (Pages::serve().await, tempfile::tempdir().unwrap());
    let mut rows = Vec::new();

    println!("Deskhand, managed");
    let mut managed = Deskhand::start(bin, "managed").await;
    rows.push(("Deskhand, managed", measured(&mut managed, &pages).await));
    drop(managed);

    println!("Deskhand, extension");
    let mut lent = Deskhand::start(bin, "extension").await;
    let extension = Path::new(env!("CARGO_MANIFEST_DIR")).join("extension");
    let person = Person::start_in(Vec::new(), &folder.path().join("person"), &extension, &["--headless=new"]).await;
    person.pair(lent.host(), &lent.pairing_code(bin), "bench").await;
    let target = person.open(&pages.url(0)).await;
    person.lend(&target).await;
    rows.push(("Deskhand, extension", measured(&mut lent, &pages).await));
    let floor = floor(&person, &pages).await;
    drop((lent, person));

    match playwright() {
        Some(program) => {
            println!("@playwright/mcp");
            let mut other = Playwright::start(&program, folder.path()).await;
            rows.push(("@playwright/mcp", measured(&mut other, &pages).await));
        }
        None => println!("@playwright/mcp cannot be fetched by npm here, so it is not measured."),
    }
    table(floor, &rows);
}
