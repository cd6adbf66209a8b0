//! Which program is at the other end of a loopback connection, as the system tells. Shown in prompts, trusted for nothing.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::SocketAddr;

/// What was found out about connections, since looking through the processes takes milliseconds.
#[derive(Default)]
pub(crate) struct Programs(Mutex<HashMap<SocketAddr, Option<String>>>);

impl Programs {
    /// A function that finds the program at the other end of a connection.
    pub(crate) fn finder(self) -> impl Fn(SocketAddr) -> Option<String> + Send + Sync {
        move |peer| {
            let mut known = self.0.lock();
            if known.len() >= 256 {
                known.clear();
            }
            known.entry(peer).or_insert_with(|| program(peer)).clone()
        }
    }
}

/// The name of the program that holds the socket at `peer`, where the system tells.
#[cfg(target_os = "linux")]
fn program(peer: SocketAddr) -> Option<String> {
    if !peer.ip().is_loopback() {
        return None;
    }
    let inode = inode(peer)?;
    let wanted = format!("socket:[{inode}]");
    let processes = std::fs::read_dir("/proc").ok()?.flatten().filter(|e| e.file_name().as_encoded_bytes()[0].is_ascii_digit());
    for process in processes {
        let holds = std::fs::read_dir(process.path().join("fd"))
            .into_iter()
            .flatten()
            .flatten()
            .any(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to.as_os_str() == wanted.as_str()));
        if holds {
            let name = std::fs::read_link(process.path().join("exe")).ok()?;
            return Some(name.file_name()?.to_string_lossy().into_owned());
        }
    }
    None
}

/// Elsewhere the token alone tells callers apart.
#[cfg(not(target_os = "linux"))]
fn program(_peer: SocketAddr) -> Option<String> {
    None
}

#[cfg(target_os = "linux")]
fn inode(peer: SocketAddr) -> Option<String> {
    let local = match peer {
        SocketAddr::V4(v4) => format!("{:08X}:{:04X}", u32::from_ne_bytes(v4.ip().octets()), v4.port()),
        SocketAddr::V6(v6) => {
            let words: Vec<String> =
                v6.ip().octets().chunks(4).map(|c| format!("{:08X}", u32::from_ne_bytes([c[0], c[1], c[2], c[3]]))).collect();
            format!("{}:{:04X}", words.concat(), v6.port())
        }
    };
    let table = std::fs::read_to_string(if peer.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" }).ok()?;
    let mut rows = table.lines().skip(1).map(|l| l.split_whitespace().collect::<Vec<_>>());
    rows.find(|row| row.get(1) == Some(&local.as_str())).and_then(|row| row.get(9).map(|i| (*i).to_owned()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn the_program_at_the_other_end_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let own = std::env::current_exe().unwrap();
        assert_eq!(super::program(client.local_addr().unwrap()), Some(own.file_name().unwrap().to_string_lossy().into_owned()));
    }
}
