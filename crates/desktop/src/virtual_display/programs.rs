//! The programs of a virtual display: started one after the other, each when the one before is ready.

use std::ffi::OsString;
use std::fs::File;
use std::io::{PipeReader, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, EventMask};
use x11rb::rust_connection::{DefaultStream, RustConnection};

use super::{Missing, Started, found, install_command};
use crate::{Error, Result};

/// A machine under heavy load starts an X server in seconds; longer means it never will.
const READY: Duration = Duration::from_secs(20);
/// A window manager that is not there by then is done without.
const MANAGED: Duration = Duration::from_secs(10);
/// How long a program has to end by itself.
const PATIENCE: Duration = Duration::from_secs(2);

const XVFB: [&str; 4] = ["xvfb", "xorg-x11-server-Xvfb", "xorg-server-xvfb", "xorg-x11-server-Xvfb"];
const MANAGERS: [(&str, &[&str]); 6] = [
    ("openbox", &["--sm-disable"]),
    ("xfwm4", &["--compositor=off"]),
    ("metacity", &["--sm-disable"]),
    ("icewm", &[]),
    ("matchbox-window-manager", &[]),
    ("twm", &[]),
];
const OPENBOX: &str = include_str!("openbox.xml");

const FOLDER: &str = "deskhand-display-";
const LOCK: &str = "lock";

/// What runs, the first started first.
pub(super) struct Programs {
    running: Vec<Child>,
    // Cookie, bus socket, configuration, logs: gone with the programs.
    folder: tempfile::TempDir,
    // Held while we live: a folder that nobody holds was left by a worker that was killed.
    _lock: File,
}

impl Programs {
    pub(super) fn start(width: u32, height: u32) -> Result<(Self, Started)> {
        let failed = |e| Error::failed("starting the virtual display", e);
        // The name is unguessable and the folder 0700, so the cookie in it is this user's alone.
        sweep();
        let folder = tempfile::Builder::new().prefix(FOLDER).tempdir().map_err(failed)?;
        let unnamed = folder.path().join("unnamed");
        let lock = File::create(&unnamed).map_err(failed)?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).map_err(|e| failed(e.into()))?;
        // It gets its name only when it is held, so that nobody takes the folder for one left behind.
        std::fs::rename(unnamed, folder.path().join(LOCK)).map_err(failed)?;
        let mut programs = Self { running: Vec::new(), folder, _lock: lock };
        let mut started = Started { variables: Vec::new(), missing: Vec::new() };
        let cookie = cookie().map_err(failed)?;
        let authority = programs.folder.path().join("Xauthority");
        // Which number the server will take is not known yet; it goes by the cookie alone.
        write_private(&authority, &entry(ANY_FAMILY, b"", b"", &cookie)).map_err(failed)?;
        let name = programs.server(width, height, &authority)?;
        std::fs::write(&authority, authority_of(&cookie, name.trim_start_matches(':'))).map_err(failed)?;
        started.variables.extend([
            ("DISPLAY", OsString::from(&name)),
            ("XAUTHORITY", authority.into()),
            ("XDG_SESSION_TYPE", "x11".into()),
            ("GDK_BACKEND", "x11".into()),
        ]);
        match programs.bus(&started)? {
            Some(address) => started.variables.push(("DBUS_SESSION_BUS_ADDRESS", address.into())),
            None => started.missing.push(Missing {
                what: "a session bus",
                effect: "programs that need one start slowly or not at all",
                remedy: install_command(["dbus", "dbus-daemon", "dbus", "dbus-1"]),
            }),
        }
        let conn = connect(&name, &cookie)?;
        if !programs.window_manager(&started, &conn)? {
            started.missing.push(Missing {
                what: "a window manager",
                effect: "windows have no frames, cannot be moved, and may not get the keyboard",
                remedy: install_command(["openbox"; 4]),
            });
        }
        Ok((programs, started))
    }

    /// Starts the X server and gives the name it chose.
    fn server(&mut self, width: u32, height: u32, authority: &Path) -> Result<String> {
        let Some(xvfb) = found("Xvfb") else {
            let remedy = format!("install it: {}", install_command(XVFB));
            return Err(Error::unavailable("a virtual display", "the program Xvfb is not in PATH", remedy));
        };
        let (reader, writer) = std::io::pipe().map_err(|e| Error::failed("starting Xvfb", e))?;
        let mut command = Command::new(xvfb);
        command.args(["-displayfd", &writer.as_raw_fd().to_string(), "-screen", "0", &format!("{width}x{height}x24"), "-dpi", "96"]);
        command.args(["-nolisten", "tcp", "-noreset", "-auth"]).arg(authority);
        command.args(["+extension", "RANDR", "+extension", "XTEST", "+extension", "MIT-SHM", "+extension", "XINERAMA"]);
        let server = self.spawn(command, "xvfb", Some(writer.as_raw_fd()))?;
        drop(writer);
        let number = line(reader, READY).filter(|l| !l.is_empty() && l.bytes().all(|b| b.is_ascii_digit()));
        number.map(|n| format!(":{n}")).ok_or_else(|| {
            let how = self.running.get_mut(server).and_then(|c| c.try_wait().ok().flatten());
            let how = how.map_or_else(|| format!("not ready after {} s", READY.as_secs()), |s| s.to_string());
            Error::unavailable(
                "a virtual display",
                format!("Xvfb did not start ({how}): {}", self.last_words("xvfb")),
                "see that /tmp/.X11-unix can be written and memory is free",
            )
        })
    }

    /// Starts a bus and gives its address; `None` without the program.
    fn bus(&mut self, started: &Started) -> Result<Option<String>> {
        let Some(daemon) = found("dbus-daemon") else { return Ok(None) };
        let failed = |e: std::io::Error| Error::failed("starting dbus-daemon", e);
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        let mut command = Command::new(daemon);
        let address = format!("--address=unix:path={}", self.folder.path().join("bus").display());
        let print = format!("--print-address={}", writer.as_raw_fd());
        command.args(["--session", "--nofork", "--nopidfile", "--nosyslog", &address, &print]);
        surround(&mut command, started);
        self.spawn(command, "dbus", Some(writer.as_raw_fd()))?;
        drop(writer);
        let address = line(reader, READY).filter(|l| l.contains(':'));
        if address.is_none() {
            tracing::warn!(said = self.last_words("dbus"), "the virtual display has no session bus");
        }
        Ok(address)
    }

    /// Starts the first window manager found; whether one manages the display now.
    fn window_manager(&mut self, started: &Started, conn: &RustConnection) -> Result<bool> {
        let Some((name, path, arguments)) = MANAGERS.iter().find_map(|(name, arguments)| Some((*name, found(name)?, *arguments))) else {
            return Ok(false);
        };
        let failed = |e: &dyn std::fmt::Display| Error::failed(format!("starting {name}"), e);
        let root = conn.setup().roots.first().map(|s| s.root).ok_or_else(|| failed(&"the display has no screen"))?;
        let listening = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        conn.change_window_attributes(root, &listening).map_err(|e| failed(&e))?;
        let check = conn.intern_atom(false, b"_NET_SUPPORTING_WM_CHECK").map_err(|e| failed(&e))?.reply().map_err(|e| failed(&e))?.atom;
        let mut command = Command::new(path);
        command.args(arguments);
        if name == "openbox" {
            // The system's configuration binds keys and menus that the person's agent did not ask for.
            let rc = self.folder.path().join("openbox.xml");
            write_private(&rc, OPENBOX.as_bytes()).map_err(|e| failed(&e))?;
            command.arg("--config-file").arg(rc);
        }
        surround(&mut command, started);
        self.spawn(command, "wm", None)?;
        let end = Instant::now() + MANAGED;
        loop {
            let asked = conn.get_property(false, root, check, AtomEnum::ANY, 0, 1).map_err(|e| failed(&e))?;
            if asked.reply().is_ok_and(|p| p.type_ != 0) {
                return Ok(true);
            }
            let died = self.running.last_mut().is_none_or(|c| !matches!(c.try_wait(), Ok(None)));
            if died || !readable(conn.stream(), end) {
                tracing::warn!(name, said = self.last_words("wm"), "the window manager did not come up");
                return Ok(false);
            }
            while conn.poll_for_event().map_err(|e| failed(&e))?.is_some() {}
        }
    }

    /// Starts a program that the kernel ends with this thread. `passed` is a descriptor it may use.
    fn spawn(&mut self, mut command: Command, name: &'static str, passed: Option<RawFd>) -> Result<usize> {
        let failed = |e: std::io::Error| Error::failed(format!("starting {}", name), e);
        let log = File::create(self.folder.path().join(format!("{name}.log"))).map_err(failed)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).process_group(0);
        let parent = rustix::process::getpid();
        let prepare = move || {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?;
            if rustix::process::getppid() != Some(parent) {
                return Err(std::io::ErrorKind::NotFound.into());
            }
            if let Some(fd) = passed {
                // SAFETY: the descriptor is open in this process, and clearing its flag touches nothing else.
                if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } < 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            Ok(())
        };
        // SAFETY: between fork and exec only system calls are made, which take no lock and allocate nothing.
        unsafe { command.pre_exec(prepare) };
        self.running.push(command.spawn().map_err(failed)?);
        Ok(self.running.len() - 1)
    }

    /// The end of what a program complained of.
    fn last_words(&self, name: &str) -> String {
        let text = std::fs::read(self.folder.path().join(format!("{name}.log"))).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        if lines.is_empty() { "it said nothing".into() } else { lines[lines.len().saturating_sub(3)..].join("; ") }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        while let Some(mut child) = self.running.pop() {
            let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) else { continue };
            if matches!(child.try_wait(), Ok(None)) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
                if !ended(&mut child, PATIENCE) {
                    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                }
            }
            let _ = child.wait();
        }
    }
}

/// Removes the folders of workers that were killed. Another user's cannot be opened, and stay.
fn sweep() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten().filter(|e| e.file_name().to_string_lossy().starts_with(FOLDER)) {
        let Ok(lock) = File::options().write(true).open(entry.path().join(LOCK)) else { continue };
        if rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Waits for the end of a program, told by its process descriptor.
fn ended(child: &mut Child, patience: Duration) -> bool {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    let fd = pid.and_then(|p| rustix::process::pidfd_open(p, rustix::process::PidfdFlags::empty()).ok());
    if let Some(fd) = fd {
        return readable(&fd, Instant::now() + patience);
    }
    let end = Instant::now() + patience;
    while Instant::now() < end {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Waits until something can be read.
fn readable(fd: &impl std::os::fd::AsFd, end: Instant) -> bool {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let Ok(timeout) = rustix::event::Timespec::try_from(left) else { return false };
        match poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// One line from a pipe, or what came before it was closed.
fn line(mut pipe: PipeReader, patience: Duration) -> Option<String> {
    let end = Instant::now() + patience;
    let mut text = Vec::new();
    let mut byte = [0];
    while readable(&pipe, end) {
        match pipe.read(&mut byte) {
            Ok(1) if byte[0] != b'\n' => text.push(byte[0]),
            _ => return String::from_utf8(text).ok(),
        }
    }
    None
}

fn surround(command: &mut Command, started: &Started) {
    for name in super::VirtualDisplay::removed_variables() {
        command.env_remove(name);
    }
    command.envs(started.variables.iter().map(|(name, value)| (name, value)));
}

fn cookie() -> std::io::Result<[u8; 16]> {
    let mut cookie = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut cookie)?;
    Ok(cookie)
}

const ANY_FAMILY: u16 = 0xffff;
const LOCAL_FAMILY: u16 = 256;

/// An authority file for clients: some only look for their own host's name and the display's number.
fn authority_of(cookie: &[u8; 16], number: &str) -> Vec<u8> {
    let host = rustix::system::uname().nodename().to_bytes().to_vec();
    [entry(LOCAL_FAMILY, &host, number.as_bytes(), cookie), entry(ANY_FAMILY, b"", b"", cookie)].concat()
}

/// One entry: who it is for, and the cookie.
fn entry(family: u16, address: &[u8], number: &[u8], cookie: &[u8; 16]) -> Vec<u8> {
    let mut entry = family.to_be_bytes().to_vec();
    for field in [address, number, b"MIT-MAGIC-COOKIE-1", cookie] {
        entry.extend_from_slice(&(field.len() as u16).to_be_bytes());
        entry.extend_from_slice(field);
    }
    entry
}

fn write_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
    File::options().write(true).create_new(true).mode(0o600).open(path)?.write_all(content)
}

/// Connects with the cookie itself: XAUTHORITY of this process may still name another file.
fn connect(name: &str, cookie: &[u8; 16]) -> Result<RustConnection> {
    let failed = |e: &dyn std::fmt::Display| Error::failed("connecting to the virtual display", e);
    let parsed = x11rb::reexports::x11rb_protocol::parse_display::parse_display(Some(name)).map_err(|e| failed(&e))?;
    let address = parsed.connect_instruction().next().ok_or_else(|| failed(&"its name has no address"))?;
    let (stream, _) = DefaultStream::connect(&address).map_err(|e| failed(&e))?;
    RustConnection::connect_to_stream_with_auth_info(stream, 0, b"MIT-MAGIC-COOKIE-1".to_vec(), cookie.to_vec()).map_err(|e| failed(&e))
}
