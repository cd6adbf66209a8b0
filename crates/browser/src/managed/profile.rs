//! The profile folder of the managed Chromium, and who holds it. Two browsers on one profile would hand pages to each
//! other instead of starting (cases B162, B172), and a browser on the person's default profile ignores debugging
//! altogether (case B178); both are said before anything is started.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::BrowserError;

/// How long a browser that is just ending may take to give the profile back.
const RELEASE: Duration = Duration::from_secs(6);

/// Refuses a profile that is, holds or lies in a browser's own default folder.
pub(super) fn refuse_default(profile: &Path) -> Result<(), BrowserError> {
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else { return Ok(()) };
    let here = real(&std::path::absolute(profile).unwrap_or_else(|_| profile.to_owned()));
    match defaults(&real(&home)).into_iter().find(|d| here.starts_with(d) || d.starts_with(&here)) {
        Some(default) => Err(BrowserError::Unavailable(format!(
            "the managed browser cannot use {}: {} is the default profile of the person's own browser, which ignores debugging and would be changed by it; choose a folder of its own, or lend tabs of that browser through the extension",
            profile.display(),
            default.display()
        ))),
        None => Ok(()),
    }
}

/// Where a path leads, links followed, also when its last parts are not there yet.
fn real(path: &Path) -> PathBuf {
    let mut there = path.ancestors();
    let found = there.find_map(|a| a.canonicalize().ok().map(|real| (a, real)));
    found.map_or_else(|| path.to_owned(), |(a, real)| path.strip_prefix(a).map_or_else(|_| real.clone(), |rest| real.join(rest)))
}

fn defaults(home: &Path) -> Vec<PathBuf> {
    let names = [
        ".config/chromium",
        ".config/google-chrome",
        ".config/google-chrome-beta",
        ".config/google-chrome-unstable",
        ".config/microsoft-edge",
        ".config/BraveSoftware/Brave-Browser",
        "snap/chromium/common/chromium",
        "Library/Application Support/Google/Chrome",
        "Library/Application Support/Chromium",
        "Library/Application Support/Microsoft Edge",
    ];
    names.iter().map(|n| home.join(n)).collect()
}

/// Who holds a profile: Chromium leaves a link `SingletonLock` → `host-pid`.
#[derive(Debug, PartialEq, Eq)]
enum Holder {
    Nobody,
    Process(u32),
    Elsewhere(String),
}

/// Waits a few seconds for a browser that is ending, and names the one that is not.
pub(super) async fn wait_until_free(profile: &Path) -> Result<(), BrowserError> {
    let end = Instant::now() + RELEASE;
    loop {
        let who = match holder(profile) {
            Holder::Nobody => return Ok(()),
            Holder::Process(pid) => format!("process {pid} ({}) holds it; end that browser", name_of(pid)),
            Holder::Elsewhere(host) => format!(
                "a browser on the machine {host} holds it; end that browser, or delete the file SingletonLock in it if that machine is no more"
            ),
        };
        if Instant::now() >= end {
            return Err(BrowserError::Unavailable(format!(
                "the managed browser's profile {} is in use: {who}, then try again; nothing was opened",
                profile.display()
            )));
        }
        // Nothing tells when a foreign process gives a lock back; it is looked at again.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn holder(profile: &Path) -> Holder {
    let Ok(target) = std::fs::read_link(profile.join("SingletonLock")) else { return Holder::Nobody };
    let text = target.to_string_lossy().into_owned();
    let Some((host, pid)) = text.rsplit_once('-') else { return Holder::Nobody };
    let Ok(pid) = pid.parse::<u32>() else { return Holder::Nobody };
    if !host.eq_ignore_ascii_case(&host_name()) {
        return Holder::Elsewhere(host.to_owned());
    }
    if is_browser(pid, profile) { Holder::Process(pid) } else { Holder::Nobody }
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|s| s.trim().to_owned())
        .or_else(|_| std::env::var("HOSTNAME"))
        .unwrap_or_default()
}

fn name_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).map_or_else(|_| "a browser".to_owned(), |s| s.trim().to_owned())
}

/// A number that another program got since is no browser: its command line names another profile.
fn is_browser(pid: u32, profile: &Path) -> bool {
    let Ok(line) = std::fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    let wanted = profile.to_string_lossy();
    String::from_utf8_lossy(&line)
        .split('\0')
        .any(|a| a.strip_prefix("--user-data-dir=").is_some_and(|d| Path::new(d) == Path::new(wanted.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_profiles_are_refused_with_what_is_around_and_inside_them() {
        let home = PathBuf::from(std::env::var_os("HOME").unwrap());
        for bad in [".config/chromium", ".config/google-chrome/Default", ".config"] {
            assert!(refuse_default(&home.join(bad)).is_err(), "{bad}");
        }
        assert!(refuse_default(&home.join(".local/state/deskhand/browser")).is_ok());
    }

    #[test]
    fn a_link_is_followed_also_where_the_end_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink(base.join("real"), base.join("link")).unwrap();
        assert_eq!(real(&base.join("link/chromium")), base.join("real/chromium"));
        assert_eq!(real(&base.join("link")), base.join("real"));
    }

    #[test]
    fn a_lock_left_by_the_dead_is_nobodys() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("SingletonLock");
        assert_eq!(holder(dir.path()), Holder::Nobody);
        let own = format!("{}-{}", host_name(), std::process::id());
        std::os::unix::fs::symlink(own, &lock).unwrap();
        assert_eq!(holder(dir.path()), Holder::Nobody, "this test is no browser");
        std::fs::remove_file(&lock).unwrap();
        std::os::unix::fs::symlink("another-host-12", &lock).unwrap();
        assert_eq!(holder(dir.path()), Holder::Elsewhere("another-host".into()));
    }

    #[tokio::test]
    async fn the_holder_of_a_profile_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut other = std::process::Command::new("sh")
            .args(["-c", "read x", "sh"])
            .arg(format!("--user-data-dir={}", dir.path().display()))
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::os::unix::fs::symlink(format!("{}-{}", host_name(), other.id()), dir.path().join("SingletonLock")).unwrap();
        // Its command line is readable a moment after it began.
        let end = Instant::now() + Duration::from_secs(10);
        while holder(dir.path()) != Holder::Process(other.id()) {
            assert!(Instant::now() < end, "the holder is not seen");
            tokio::task::yield_now().await;
        }
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(wait_until_free(dir.path()).await.is_ok());
    }
}
