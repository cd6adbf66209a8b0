//! Starting Chromium. It is told to speak over two pipes that only we hold (`--remote-debugging-pipe`): no port that
//! another program or a web page could find, and when this process ends in whatever way, SIGKILL included, the pipes
//! close and Chromium ends itself. chromiumoxide can only launch with a port, hence this. The standard library cannot
//! give a child descriptors 3 and 4 without `unsafe`; a shell, replaced at once by the browser, can.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use super::cdp::{self, Cdp, Told};
use super::{Launch, profile};
use crate::error::BrowserError;
use crate::policy::Policy;

/// How long a browser may take to answer for the first time, on a loaded machine.
const START: Duration = Duration::from_secs(20);
/// How many of its last lines are kept to say why it did not start.
const LINES: usize = 20;

/// A running browser of ours.
pub(super) struct Process {
    pub(super) cdp: Cdp,
    pub(super) told: mpsc::UnboundedReceiver<Told>,
    pub(super) child: Child,
    pub(super) version: Value,
}

/// Where the browser is: the named one, or what this machine has.
///
/// # Errors
/// [`BrowserError::Unavailable`] naming what is missing.
pub(super) fn executable(named: Option<&Path>) -> Result<PathBuf, BrowserError> {
    if let Some(path) = named {
        return if path.exists() {
            Ok(path.to_owned())
        } else {
            Err(BrowserError::Unavailable(format!("the browser {} is not there", path.display())))
        };
    }
    chromiumoxide::detection::default_executable(chromiumoxide::detection::DetectionOptions::default()).map_err(|_| {
        BrowserError::Unavailable(
            "no Chromium, Chrome or Edge was found on this machine; install one (for example the package chromium), or name its path"
                .to_owned(),
        )
    })
}

/// Starts it and waits for its first answer.
///
/// # Errors
/// [`BrowserError::Unavailable`] with the reason: not found, profile taken, no display, its own last words.
pub(super) async fn start(wish: &Launch, policy: &Policy) -> Result<Process, BrowserError> {
    let program = executable(wish.executable.as_deref())?;
    profile::refuse_default(&wish.profile)?;
    std::fs::create_dir_all(&wish.profile)
        .map_err(|e| BrowserError::Unavailable(format!("the browser's profile folder {} cannot be made: {e}", wish.profile.display())))?;
    profile::wait_until_free(&wish.profile).await?;
    let mut child = command(&program, wish, policy)
        .spawn()
        .map_err(|e| BrowserError::Unavailable(format!("{} does not start: {e}", program.display())))?;
    let (Some(to), Some(from), Some(log)) = (child.stdin.take(), child.stdout.take(), child.stderr.take()) else {
        return Err(BrowserError::Unavailable("the browser's pipes could not be made".to_owned()));
    };
    let lines = last_lines(log);
    let (cdp, told) = cdp::pipe(to, from);
    let answer = tokio::time::timeout(START, cdp.call(None, "Browser.getVersion", json!({}))).await;
    match answer {
        Ok(Ok(version)) => Ok(Process { cdp, told, child, version }),
        other => {
            let _ = child.start_kill();
            let _ = child.wait().await;
            let why = if other.is_err() { "it did not answer in 20 s" } else { "it ended at once" };
            Err(BrowserError::Unavailable(format!("{} does not start: {why}{}{}", program.display(), display_hint(wish), said(&lines))))
        }
    }
}

fn display_hint(wish: &Launch) -> String {
    match (wish.headless, wish.display.clone().or_else(|| std::env::var("DISPLAY").ok())) {
        (true, _) => String::new(),
        (false, None) => "; there is no display: start the worker with --display, --virtual-display or --headless".to_owned(),
        (false, Some(d)) => format!("; its display is {d}"),
    }
}

fn said(lines: &Mutex<VecDeque<String>>) -> String {
    let lines = lines.lock();
    let worth: Vec<&str> =
        lines.iter().map(String::as_str).filter(|l| l.contains("ERROR") || l.contains("FATAL") || l.contains("annot")).collect();
    worth.last().map(|l| format!("; it said: {}", l.trim())).unwrap_or_default()
}

fn last_lines<R: AsyncRead + Unpin + Send + 'static>(log: R) -> Arc<Mutex<VecDeque<String>>> {
    let kept = Arc::new(Mutex::new(VecDeque::new()));
    let keep = Arc::clone(&kept);
    tokio::spawn(async move {
        let mut lines = BufReader::new(log).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            tracing::trace!(target: "chromium", "{line}");
            let mut kept = keep.lock();
            if kept.len() == LINES {
                kept.pop_front();
            }
            kept.push_back(line);
        }
    });
    kept
}

fn command(program: &Path, wish: &Launch, policy: &Policy) -> Command {
    // Descriptors 3 and 4 are what Chromium reads orders from and writes answers to.
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg("exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null").arg("deskhand-browser").arg(program);
    command.args(flags(wish)).arg(format!("--host-resolver-rules={}", policy.unreachable())).arg("about:blank");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Its own group, so that a Ctrl+C meant for the worker does not end it in the middle of a page.
    command.process_group(0).kill_on_drop(true);
    if let Some(display) = &wish.display {
        command.env("DISPLAY", display).env_remove("WAYLAND_DISPLAY");
    }
    command
}

fn flags(wish: &Launch) -> Vec<String> {
    let mut flags: Vec<String> = [
        "--remote-debugging-pipe",
        // A profile of our own needs no welcome, and asks nobody for a keyring.
        "--no-first-run",
        "--no-default-browser-check",
        "--password-store=basic",
        "--use-mock-keychain",
        "--hide-crash-restore-bubble",
        "--disable-search-engine-choice-screen",
        // Traffic from which the person gains nothing.
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-features=Translate,MediaRouter,OptimizationHints,InterestFeedContentSuggestions,Prerender2",
        // Tabs behind others work like the one in front.
        "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows",
        "--disable-renderer-backgrounding",
    ]
    .map(str::to_owned)
    .to_vec();
    flags.push(format!("--user-data-dir={}", wish.profile.display()));
    if wish.headless {
        flags.push("--headless=new".to_owned());
        flags.push("--window-size=1280,800".to_owned());
    } else if wish.display.is_some() {
        flags.push("--ozone-platform=x11".to_owned());
    }
    if is_root() {
        static SAID: std::sync::Once = std::sync::Once::new();
        SAID.call_once(|| {
            tracing::warn!(
                "running as root: Chromium's sandbox does not work for root and is switched off; run the worker as an ordinary user"
            );
        });
        flags.push("--no-sandbox".to_owned());
    }
    flags.extend(wish.extra_flags.iter().cloned());
    flags
}

fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|s| s.lines().any(|l| l.strip_prefix("Uid:").and_then(|l| l.split_whitespace().nth(1)) == Some("0")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(headless: bool) -> Launch {
        Launch {
            executable: None,
            profile: "/p".into(),
            downloads: "/d".into(),
            headless,
            display: Some(":9".into()),
            extra_flags: vec!["--lang=de".into()],
        }
    }

    #[test]
    fn no_port_is_opened_and_no_window_size_is_forced_on_a_display() {
        let flags = flags(&wish(false));
        assert!(flags.iter().any(|f| f == "--remote-debugging-pipe") && flags.iter().any(|f| f == "--lang=de"));
        assert!(!flags.iter().any(|f| f.contains("port")
            || f.contains("window-size")
            || f.contains("disable-extensions")
            || f.contains("ignore-certificate")));
    }

    #[test]
    fn a_named_browser_that_is_not_there_is_named() {
        let error = executable(Some(Path::new("/no/such/chromium"))).unwrap_err().to_string();
        assert!(error.contains("/no/such/chromium"), "{error}");
    }
}
