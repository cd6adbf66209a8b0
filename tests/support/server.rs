//! A bare X server for one test: any size and depth, with or without a window manager.

use std::io::{BufRead as _, BufReader};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Ends with the test.
pub struct Server {
    running: Vec<Child>,
    name: String,
}

impl Server {
    /// Brings one up; `screen` is width x height x depth.
    pub fn start(screen: &str) -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        let fd = writer.as_raw_fd();
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", &fd.to_string(), "-screen", "0", screen, "-nolisten", "tcp", "-noreset"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: only clears the flag of a descriptor that is open.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(move || if libc::fcntl(fd, libc::F_SETFD, 0) < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) })
        };
        let child = command.spawn().expect("Xvfb is installed");
        drop(writer);
        let mut number = String::new();
        BufReader::new(reader).read_line(&mut number).unwrap();
        let name = format!(":{}", number.trim());
        assert!(name.len() > 1, "Xvfb -screen 0 {screen} did not start");
        Self { running: vec![child], name }
    }

    /// The same with openbox, which manages windows when this returns.
    pub fn managed(screen: &str) -> Self {
        let mut server = Self::start(screen);
        let mut command = Command::new("openbox");
        command.arg("--sm-disable").env("DISPLAY", &server.name).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        server.running.push(command.spawn().expect("openbox is installed"));
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let asked = Command::new("xprop").args(["-display", &server.name, "-root", "_NET_SUPPORTING_WM_CHECK"]).output().unwrap();
            if String::from_utf8_lossy(&asked.stdout).contains("window id") {
                return server;
            }
            assert!(Instant::now() < end, "openbox does not manage the display");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        while let Some(mut child) = self.running.pop() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
