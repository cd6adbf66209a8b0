//! The display that the worker brings up for itself: it can be used at once, by its user alone, and ends with the worker,
//! however that ends. The witnesses are the system's own programs and its process table.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use deskhand_desktop::virtual_display::VirtualDisplay;

const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a program on the display.
fn on(display: &VirtualDisplay, program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).envs(display.variables().iter().map(|(name, value)| (name, value)));
    command.output().unwrap_or_else(|e| panic!("{program}: {e}"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Processes whose command line names `folder`.
fn running_with(folder: &Path) -> Vec<i32> {
    let folder = folder.to_string_lossy().into_owned();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_string_lossy().parse::<i32>().ok());
    // A zombie has an empty command line.
    pids.filter(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|c| String::from_utf8_lossy(&c).contains(&folder))).collect()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {} s", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn folder_of(display: &VirtualDisplay) -> std::path::PathBuf {
    let authority = display.variables().iter().find(|(name, _)| *name == "XAUTHORITY").unwrap();
    Path::new(&authority.1).parent().unwrap().to_path_buf()
}

#[test]
fn it_has_its_size_a_window_manager_a_bus_and_what_input_needs() {
    let display = VirtualDisplay::start(3840, 2160).unwrap();
    assert!(display.missing().is_empty(), "{:?}", display.missing());
    let info = said(&on(&display, "xdpyinfo", &[]));
    assert!(info.contains("3840x2160 pixels"), "{info}");
    for extension in ["XTEST", "RANDR", "MIT-SHM", "XINERAMA", "XKEYBOARD", "XInputExtension"] {
        assert!(info.contains(extension), "{extension} is missing");
    }
    assert!(said(&on(&display, "xprop", &["-root", "_NET_SUPPORTING_WM_CHECK"])).contains("window id"));
    let names = ["--session", "--print-reply", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListNames"];
    assert!(on(&display, "dbus-send", &names).status.success());
}

#[test]
fn only_its_user_can_connect_and_nothing_listens_on_tcp() {
    let display = VirtualDisplay::start(640, 480).unwrap();
    let stranger = Command::new("xdpyinfo").env("DISPLAY", display.name()).env("XAUTHORITY", "/dev/null").output().unwrap();
    assert!(!stranger.status.success(), "without the cookie: {}", said(&stranger));
    let number: u16 = display.name().trim_start_matches(':').parse().unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", 6000 + number)).is_err());
}

#[test]
fn dropping_it_ends_every_program_and_removes_every_file() {
    let display = VirtualDisplay::start(640, 480).unwrap();
    let folder = folder_of(&display);
    assert!(running_with(&folder).len() >= 2, "the server and the bus name their folder");
    drop(display);
    assert!(running_with(&folder).is_empty());
    assert!(!folder.exists());
}

#[test]
fn two_at_once_do_not_meet() {
    let [one, two] = [640, 800].map(|width| VirtualDisplay::start(width, 480).unwrap());
    assert_ne!(one.name(), two.name());
    assert!(said(&on(&one, "xdpyinfo", &[])).contains("640x480 pixels"));
    assert!(said(&on(&two, "xdpyinfo", &[])).contains("800x480 pixels"));
}

fn serve(state: &Path, path: Option<&str>) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deskhand"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--authorize", "all", "--virtual-display", "800x600", "--ready-json", "--state-dir"]);
    command.arg(state).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.spawn().unwrap()
}

/// The folders of virtual displays that this process's programs use.
fn folders_of_children(pid: u32) -> Vec<std::path::PathBuf> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let pids = tasks.filter_map(|t| std::fs::read_to_string(t.path().join("children")).ok());
    let pids: Vec<String> = pids.flat_map(|c| c.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
    let lines = pids.iter().filter_map(|p| std::fs::read(format!("/proc/{p}/cmdline")).ok());
    let words = lines.flat_map(|l| l.split(|b| *b == 0).map(|w| String::from_utf8_lossy(w).into_owned()).collect::<Vec<_>>());
    words.filter(|w| w.ends_with("/Xauthority")).filter_map(|w| Path::new(&w).parent().map(Path::to_path_buf)).collect()
}

#[test]
fn a_killed_worker_takes_its_display_with_it() {
    let state = tempfile::tempdir().unwrap();
    let mut worker = serve(state.path(), None);
    let mut ready = String::new();
    BufReader::new(worker.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert!(ready.contains("\"display\":\":"), "{ready}");
    let folders = folders_of_children(worker.id());
    assert_eq!(folders.len(), 1, "one X server");
    assert!(!running_with(&folders[0]).is_empty());
    worker.kill().unwrap();
    worker.wait().unwrap();
    until("its programs end", || running_with(&folders[0]).is_empty());
}

#[test]
fn without_the_x_server_the_error_names_the_command_that_installs_it() {
    let state = tempfile::tempdir().unwrap();
    let output = serve(state.path(), Some("/nonexistent")).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("Xvfb") && said.contains("install"), "{said}");
}
