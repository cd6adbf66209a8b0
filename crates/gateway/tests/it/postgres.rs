//! The same code on PostgreSQL: a cluster of our own in a temporary folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::house::House;

/// Where Debian keeps the server's programs.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    versions.flatten().map(|entry| entry.path().join("bin")).filter(|bin| bin.join("initdb").exists()).max()
}

struct Cluster {
    bin: PathBuf,
    data: PathBuf,
    /// Of the certificate that the server shows.
    ca: String,
    _dir: tempfile::TempDir,
}

/// PostgreSQL refuses to run as root.
fn as_postgres(program: &Path) -> Command {
    if rustix::process::geteuid().is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    }
}

impl Cluster {
    fn start(bin: PathBuf, port: u16) -> Self {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        if rustix::process::geteuid().is_root() {
            let given = Command::new("chown").args(["postgres"]).arg(dir.path()).status().unwrap();
            assert!(given.success());
        }
        let data = dir.path().join("data");
        let made = as_postgres(&bin.join("initdb"))
            .args(["-A", "trust", "-U", "deskhand", "--no-sync", "-D"])
            .arg(&data)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(made.success(), "initdb");
        let (ca, (certificate, key)) = crate::executor::certificates(dir.path());
        let made = Command::new("chmod").args(["600", &key]).status().unwrap();
        assert!(made.success());
        if rustix::process::geteuid().is_root() {
            assert!(Command::new("chown").args(["postgres", &key, &certificate]).status().unwrap().success());
        }
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c ssl=on -c ssl_cert_file={certificate} -c ssl_key_file={key}"
        );
        let started = as_postgres(&bin.join("pg_ctl"))
            .args(["-w", "-t", "60", "-o", &options, "-l"])
            .arg(dir.path().join("log"))
            .arg("-D")
            .arg(&data)
            .arg("start")
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(started.success(), "pg_ctl start");
        Self { bin, data, ca, _dir: dir }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _stopped = as_postgres(&self.bin.join("pg_ctl"))
            .args(["-m", "immediate", "-D"])
            .arg(&self.data)
            .arg("stop")
            .stdout(Stdio::null())
            .status();
    }
}

#[tokio::test]
async fn users_tokens_grants_and_cron_live_in_postgresql() {
    let Some(bin) = programs() else {
        crate::skipped("PostgreSQL's server is not installed (Debian: postgresql)");
        return;
    };
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let cluster = tokio::task::spawn_blocking(move || Cluster::start(bin, port)).await.unwrap();
    let database = format!("postgres://deskhand@127.0.0.1:{port}/postgres");
    let house = House::with(&["--database", &database]).await;
    let token = house.user("ana").await;
    let store = &house.gateway().store;
    assert!(store.add_user("ana", "x", false).await.unwrap_err().to_string().contains("there already"));
    let spec = deskhand_gateway::ServerSpec::Http { url: "http://127.0.0.1:1/mcp".into(), headers: Default::default() };
    store.add_server("notes", &spec).await.unwrap();
    store.add_grant("notes", "*").await.unwrap();
    store.add_grant("notes", "*").await.unwrap();
    assert_eq!(store.granted("ana").await.unwrap(), ["notes"]);
    let cookie = store.start_session("ana", 60_000, 1).await.unwrap();
    assert_eq!(store.session_user(&cookie).await.unwrap().as_deref(), Some("ana"));
    let (text, is_error) = house.call(&token, "picoaide_cron_create", json!({"schedule": "every 60000", "prompt": "x"})).await;
    assert!(!is_error, "{text}");
    let (text, _) = house.call(&token, "picoaide_cron_list", json!({})).await;
    assert!(text.contains("\"count\":1"), "{text}");
    // Started again over the same database: migrations are done, all is there.
    let dir = std::sync::Arc::clone(&house.dir);
    house.stop().await;
    let house = House::at(dir, &["--database", &database]).await;
    assert_eq!(house.token("ana").await, token);
    house.gateway().store.remove_user("ana").await.unwrap();
    house.stop().await;
    over_tls(port, &cluster.ca).await;
    tokio::task::spawn_blocking(move || drop(cluster)).await.unwrap();
}

/// Encrypted when asked for, checked against an own CA, and refused against another.
async fn over_tls(port: u16, ca: &str) {
    let url = |rest: &str| format!("postgres://deskhand:hush@127.0.0.1:{port}/postgres?{rest}");
    for rest in ["sslmode=require".to_owned(), format!("sslmode=verify-full&sslrootcert={ca}")] {
        let house = House::with(&["--database", &url(&rest)]).await;
        house.user("tls").await;
        house.gateway().store.remove_user("tls").await.unwrap();
        house.stop().await;
    }
    let other = tempfile::tempdir().unwrap();
    let (foreign, _) = crate::executor::certificates(other.path());
    for rest in ["sslmode=verify-full".to_owned(), format!("sslmode=verify-ca&sslrootcert={foreign}")] {
        let error = deskhand_gateway::Store::open(&url(&rest)).await.unwrap_err().to_string();
        assert!(error.contains("certificate") && !error.contains("hush"), "{error}");
    }
}
