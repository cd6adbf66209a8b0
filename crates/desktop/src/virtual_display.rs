//! A display of the worker's own: an X server without a screen, a small window manager, a session bus.
//!
//! Everything is ready when [`VirtualDisplay::start`] returns, learnt from the programs themselves (a descriptor, a
//! property), not from a clock. Everything ends with the value, and with the worker too when that is killed: the kernel
//! ends a child whose starting *thread* is gone, so one thread starts all of them and stays.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::JoinHandle;

use crate::{Error, Result};

#[cfg(target_os = "linux")]
mod programs;

/// Something that would be good to have and was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The thing, such as `a window manager`.
    pub what: &'static str,
    /// What works less well without it.
    pub effect: &'static str,
    /// The command that installs it.
    pub remedy: String,
}

/// What the started programs are reached by.
#[derive(Clone, Debug)]
struct Started {
    variables: Vec<(&'static str, OsString)>,
    missing: Vec<Missing>,
}

/// A running virtual display. It ends when dropped.
#[derive(Debug)]
pub struct VirtualDisplay {
    started: Started,
    stop: Option<mpsc::Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

/// Sides that a virtual display may have, in pixels.
pub const SIDES: std::ops::RangeInclusive<u32> = 64..=16_384;

impl VirtualDisplay {
    /// Brings up a display of `width` by `height` pixels, 24 bits deep, at 96 dots an inch.
    ///
    /// Blocks until it can be used: a fraction of a second, at most 20 s on a machine that is very busy.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a size outside [`SIDES`]; [`Error::Unavailable`] without Xvfb, naming the command that
    /// installs it, or when it does not start.
    pub fn start(width: u32, height: u32) -> Result<Self> {
        if !SIDES.contains(&width) || !SIDES.contains(&height) {
            let (least, most) = (SIDES.start(), SIDES.end());
            return Err(Error::Invalid(format!("a virtual display of {width}x{height} cannot be: each side has {least} to {most} pixels")));
        }
        let (tell, told) = mpsc::channel();
        let (stop, stopped) = mpsc::channel();
        let keep = move || keep(width, height, &tell, &stopped);
        let keeper = std::thread::Builder::new().name("virtual-display".into()).spawn(keep);
        let keeper = keeper.map_err(|e| Error::failed("starting the virtual display", e))?;
        let started = told.recv().unwrap_or_else(|e| Err(Error::failed("starting the virtual display", e)));
        let display = |started| Self { started, stop: Some(stop), keeper: Some(keeper) };
        started.map(display)
    }

    /// Its name, such as `:99`.
    #[must_use]
    pub fn name(&self) -> String {
        let found = self.started.variables.iter().find(|(name, _)| *name == "DISPLAY");
        found.map(|(_, value)| value.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The environment of programs that shall appear on it.
    #[must_use]
    pub fn variables(&self) -> &[(&'static str, OsString)] {
        &self.started.variables
    }

    /// Variables of another session that must not reach programs on this one.
    #[must_use]
    pub const fn removed_variables() -> &'static [&'static str] {
        &["WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XDG_SESSION_ID", "GDK_SCALE", "GDK_DPI_SCALE", "QT_SCALE_FACTOR"]
    }

    /// What was not found and what that costs.
    #[must_use]
    pub fn missing(&self) -> &[Missing] {
        &self.started.missing
    }

    /// Makes it the display of this process and of everything it starts, while the process has no other threads.
    ///
    /// # Errors
    /// [`Error::Failed`] when threads run already: one of them may be reading the environment.
    pub fn export_before_threads(&self) -> Result<()> {
        let threads = std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
        // This one and the display's keeper, which leaves the environment alone once the display is up.
        if threads > 2 {
            return Err(Error::failed("making the virtual display this process's own", format!("{threads} threads run already")));
        }
        // SAFETY: no other thread is at the environment, as counted above, and this one starts none meanwhile.
        unsafe { self.export() };
        Ok(())
    }

    /// Makes it the display of this process and of everything it starts.
    ///
    /// # Safety
    /// No other thread may read or write the environment meanwhile: call it before threads are started.
    pub unsafe fn export(&self) {
        // SAFETY: the caller promises that nobody else is at the environment.
        unsafe {
            for name in Self::removed_variables() {
                std::env::remove_var(name);
            }
            for (name, value) in &self.started.variables {
                std::env::set_var(name, value);
            }
        }
    }
}

impl Drop for VirtualDisplay {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

/// Starts all, tells, waits, ends all.
#[cfg(target_os = "linux")]
fn keep(width: u32, height: u32, tell: &mpsc::Sender<Result<Started>>, stopped: &mpsc::Receiver<()>) {
    let running = programs::Programs::start(width, height);
    let (running, answer) = match running {
        Ok((running, started)) => (Some(running), Ok(started)),
        Err(e) => (None, Err(e)),
    };
    if tell.send(answer).is_ok() && running.is_some() {
        // Ends with an error when the sender is dropped: that is the sign.
        let _ = stopped.recv();
    }
}

#[cfg(not(target_os = "linux"))]
fn keep(_: u32, _: u32, tell: &mpsc::Sender<Result<Started>>, _: &mpsc::Receiver<()>) {
    let why = Error::unavailable(
        "a virtual display",
        "it is an X server, which this system has not",
        "start the worker without --virtual-display",
    );
    let _ = tell.send(Err(why));
}

/// Looks a program up as a shell would.
fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// The command that installs `packages` (named for apt, dnf, pacman and zypper) here.
fn install_command([apt, dnf, pacman, zypper]: [&str; 4]) -> String {
    let here = [("apt-get", apt), ("dnf", dnf), ("pacman", pacman), ("zypper", zypper)];
    let (tool, package) = here.into_iter().find(|(tool, _)| found(tool).is_some()).unwrap_or(here[0]);
    let verb = if tool == "pacman" { "-S" } else { "install" };
    format!("sudo {tool} {verb} {package}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_cannot_be_is_refused_with_the_limits() {
        let error = VirtualDisplay::start(0, 100).unwrap_err().to_string();
        assert!(error.contains("0x100") && error.contains("16384"), "{error}");
    }

    #[test]
    fn the_install_command_names_a_tool_and_a_package() {
        let command = install_command(["xvfb", "xorg-x11-server-Xvfb", "xorg-server-xvfb", "xorg-x11-server-Xvfb"]);
        assert!(command.starts_with("sudo ") && command.to_lowercase().contains("xvfb"), "{command}");
    }
}
