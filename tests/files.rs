//! Files through the product: what an agent can and cannot reach with the file tools, as a client sees it. The witness
//! is the file system.

use crate::support::worker::Worker;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A folder beside the allowed one.
fn outside(worker: &Worker) -> PathBuf {
    let out = worker.allowed.with_file_name("out");
    fs::create_dir_all(&out).unwrap();
    out
}

async fn read(worker: &Worker, path: impl AsRef<Path>) -> crate::support::worker::Answer {
    worker.call("computer_file_read", json!({ "path": path.as_ref() })).await
}

async fn write(worker: &Worker, path: impl AsRef<Path>, content: &str) -> crate::support::worker::Answer {
    worker.call("computer_file_write", json!({ "path": path.as_ref(), "content": content })).await
}

#[tokio::test]
async fn links_that_lead_out_are_refused_and_tell_nothing() {
    let worker = Worker::without_display().await;
    let (allow, out) = (worker.allowed.clone(), outside(&worker));
    fs::write(out.join("secret-name"), "SECRET-216").unwrap();
    symlink(out.join("secret-name"), allow.join("l")).unwrap();
    symlink(&out, allow.join("d")).unwrap();
    symlink(out.join("created"), allow.join("new")).unwrap();
    for path in ["l", "d/secret-name", "../out/secret-name", "nothing/../../out/secret-name"] {
        let answer = read(&worker, allow.join(path)).await;
        assert!(!answer.ok && !answer.text.contains("SECRET"), "{path}: {answer:?}");
    }
    read(&worker, "/etc/passwd").await.error("denied");
    worker.call("computer_file_list", json!({ "path": allow.join("d") })).await.error("denied");
    let found = worker.call("computer_file_search", json!({ "path": allow, "query": "secret" })).await.success();
    assert_eq!(found.json["count"], 0);
    write(&worker, allow.join("new"), "ESCAPED").await.error("denied");
    assert!(!out.join("created").exists());
    // Nothing of a file's content reaches the audit log.
    write(&worker, allow.join("f"), "PRIVATE-CONTENT").await.success();
    assert_eq!(read(&worker, allow.join("f")).await.success().text, "PRIVATE-CONTENT");
    assert!(!worker.audit().iter().any(|line| line.to_string().contains("PRIVATE-CONTENT")));
}

#[tokio::test]
async fn the_workers_own_folder_and_tokens_are_closed_whatever_is_allowed() {
    // The folder above the state and the allowed one is allowed too; the token lies in the open.
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token-in-the-open");
    fs::write(&token, "a token for this test, long enough to be one").unwrap();
    let allow = folder.path().to_str().unwrap().to_owned();
    let arguments = ["--authorize", "all", "--allow-dir", &allow, "--token-file", token.to_str().unwrap()];
    let worker = Worker::again(None, &arguments, folder).await;
    let state = worker.state.clone();
    fs::hard_link(&token, worker.allowed.join("hard")).unwrap();
    fs::write(state.join("token"), "the state folder's own").unwrap();
    fs::hard_link(state.join("token"), worker.allowed.join("hard-too")).unwrap();
    symlink(&state, worker.allowed.join("soft")).unwrap();
    symlink(format!("/proc/{}/root{}", worker.pid(), state.display()), worker.allowed.join("proc")).unwrap();
    let audit = fs::read_to_string(state.join("audit.jsonl")).unwrap();
    let ways = [
        token.clone(),
        worker.allowed.join("hard"),
        worker.allowed.join("hard-too"),
        worker.allowed.join("soft/audit.jsonl"),
        worker.allowed.join("proc/audit.jsonl"),
        worker.allowed.join("../state/audit.jsonl"),
        state.join("audit.jsonl"),
        state.join("sessions/../audit.jsonl"),
        state.join("new"),
        state.clone(),
    ];
    for path in ways {
        assert!(!read(&worker, &path).await.ok, "{}", path.display());
        assert!(!write(&worker, &path, "x").await.ok, "{}", path.display());
        assert!(!worker.call("computer_file_list", json!({ "path": path })).await.ok, "{}", path.display());
    }
    let found = worker.call("computer_file_search", json!({ "path": allow, "query": "audit" })).await.success();
    assert_eq!(found.json["count"], 0);
    assert!(fs::read_to_string(state.join("audit.jsonl")).unwrap().starts_with(&audit));
    assert_eq!(fs::read_to_string(&token).unwrap(), "a token for this test, long enough to be one");
    write(&worker, worker.allowed.join("mine"), "x").await.success();
}

#[tokio::test]
async fn a_slash_at_the_end_means_a_folder() {
    let worker = Worker::without_display().await;
    let with_slash = |name: &str| format!("{}/", worker.allowed.join(name).display());
    fs::write(worker.allowed.join("f"), "text").unwrap();
    read(&worker, with_slash("f")).await.error("invalid_arguments");
    write(&worker, with_slash("f"), "x").await.error("invalid_arguments");
    write(&worker, with_slash("new"), "x").await.error("invalid_arguments");
    worker.call("computer_file_list", json!({ "path": with_slash("") })).await.success();
    assert_eq!(fs::read_to_string(worker.allowed.join("f")).unwrap(), "text");
    assert!(!worker.allowed.join("new").exists());
}

#[tokio::test]
async fn an_allow_list_that_resolves_to_nothing_refuses_everything() {
    // The worker's own allowed folder is taken away; what is left of the list never existed.
    let worker = Worker::with(None, &["--authorize", "all", "--allow-dir", "/no/such/folder"]).await;
    fs::remove_dir(&worker.allowed).unwrap();
    for path in [worker.allowed.join("f"), PathBuf::from("/etc/passwd"), PathBuf::from("/no/such/folder/f")] {
        read(&worker, &path).await.error("denied");
        write(&worker, &path, "x").await.error("denied");
    }
    let list = worker.call("computer_whitelist", json!({})).await.success();
    assert_eq!((list.json["count"].as_u64(), list.json["directories"].as_array().map(Vec::len)), (Some(0), Some(0)));
}

#[tokio::test]
async fn a_folder_allowed_through_a_link_works_by_both_names() {
    let top = tempfile::tempdir().unwrap();
    let (real, link) = (top.path().join("real"), top.path().join("L"));
    fs::create_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    fs::write(real.join("f"), "content-218").unwrap();
    fs::write(top.path().join("outside.txt"), "SECRET-218").unwrap();
    let worker = Worker::with(None, &["--authorize", "all", "--allow-dir", link.to_str().unwrap()]).await;
    assert_eq!(read(&worker, link.join("f")).await.success().text, "content-218");
    assert_eq!(read(&worker, real.join("f")).await.success().text, "content-218");
    read(&worker, link.join("../outside.txt")).await.error("denied");
}

#[tokio::test]
async fn what_is_written_is_exact_and_rights_are_kept() {
    let worker = Worker::without_display().await;
    let file = worker.allowed.join("w.txt");
    let raw = b"\xef\xbb\xbfone\r\ntwo\r\nthree\n";
    fs::write(&file, raw).unwrap();
    let text = read(&worker, &file).await.success().text;
    write(&worker, &file, &text).await.success();
    assert_eq!(fs::read(&file).unwrap(), raw);
    for (name, mode) in [("private", 0o600), ("script", 0o755)] {
        let path = worker.allowed.join(name);
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        write(&worker, &path, "new").await.success();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), fs::metadata(&path).unwrap().permissions().mode() & 0o777), ("new", mode));
    }
    let gbk = worker.allowed.join("g.txt");
    let content = "明天下午开会，请准时参加。\n";
    let order = json!({ "path": gbk, "content": content, "encoding": "gbk" });
    worker.call("computer_file_write", order).await.success();
    let back = read(&worker, &gbk).await.success();
    assert_eq!((back.text.as_str(), back.json["encoding"].as_str()), (content, Some("gbk")));
    let missing = write(&worker, worker.allowed.join("a/b/c.txt"), "x").await.error("not_found");
    assert!(missing.contains("create_folders"), "{missing}");
    let order = json!({ "path": worker.allowed.join("a/b/c.txt"), "content": "x", "create_folders": true });
    worker.call("computer_file_write", order).await.success();
    assert_eq!(fs::read_to_string(worker.allowed.join("a/b/c.txt")).unwrap(), "x");
}

#[tokio::test]
async fn long_texts_come_in_pieces() {
    let worker = Worker::without_display().await;
    let file = worker.allowed.join("long.txt");
    let text: String = (0..90_000).map(|number| format!("line {number} é\n")).collect();
    fs::write(&file, &text).unwrap();
    let (mut all, mut offset) = (String::new(), json!(0));
    while !offset.is_null() {
        let piece = worker.call("computer_file_read", json!({ "path": file, "offset": offset })).await.success();
        assert!(piece.text.len() <= 300_000);
        assert_eq!(piece.json["total_bytes"].as_u64(), Some(text.len() as u64));
        assert_eq!(piece.json["truncated"], !piece.json["next_offset"].is_null());
        all.push_str(&piece.text);
        offset = piece.json["next_offset"].clone();
    }
    assert!(all == text);
}

#[tokio::test]
async fn odd_names_are_shown_in_a_form_that_reads_them_and_cycles_end() {
    let worker = Worker::without_display().await;
    let long = "n".repeat(251) + ".txt";
    for name in [&b"bad\xffname.txt"[..], b"new\nline.txt", b"-dash.txt", long.as_bytes()] {
        fs::write(worker.allowed.join(std::ffi::OsStr::from_bytes(name)), "CONTENT-242").unwrap();
    }
    symlink(&worker.allowed, worker.allowed.join("loop")).unwrap();
    let list = worker.call("computer_file_list", json!({ "path": worker.allowed })).await.success();
    let entries = list.json["entries"].as_array().unwrap().clone();
    assert_eq!(entries.len(), 5);
    for entry in entries.iter().filter(|entry| entry["kind"] == "file") {
        let path = worker.allowed.join(entry["name"].as_str().unwrap());
        assert_eq!(read(&worker, path).await.success().text, "CONTENT-242", "{entry}");
    }
    let started = Instant::now();
    let found = worker.call("computer_file_search", json!({ "path": worker.allowed, "query": "TXT" })).await.success();
    assert_eq!(found.json["count"], 4);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn wrong_arguments_are_errors_with_words() {
    let worker = Worker::without_display().await;
    for (tool, arguments) in [
        ("computer_file_read", json!({ "path": 2024 })),
        ("computer_file_read", json!({ "path": "" })),
        ("computer_file_read", json!({})),
        ("computer_file_read", json!({ "path": worker.allowed })),
        ("computer_file_list", json!({ "path": worker.allowed.join("missing") })),
        ("computer_file_search", json!({ "path": worker.allowed, "query": "" })),
        ("computer_file_search", json!({ "path": worker.allowed, "query": "x", "max_results": 0 })),
        ("computer_file_write", json!({ "path": worker.allowed, "content": "x" })),
    ] {
        let answer = worker.call(tool, arguments.clone()).await;
        assert!(!answer.ok && answer.text.len() > 10, "{tool} {arguments}: {answer:?}");
        let kind = answer.json["error"].clone();
        assert!(kind == "invalid_arguments" || kind == "not_found", "{tool} {arguments}: {kind}");
    }
    // A pipe, asked for by several at once: none waits, and the worker goes on.
    let pipe = worker.allowed.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let started = Instant::now();
    for answer in futures_util::future::join_all((0..8).map(|_| read(&worker, &pipe))).await {
        answer.error("invalid_arguments");
    }
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn groups_that_are_not_granted_are_refused() {
    let worker = Worker::with(None, &["--authorize", "file_read,file_list"]).await;
    let file = worker.allowed.join("f");
    fs::write(&file, "old").unwrap();
    read(&worker, &file).await.success();
    let refused = write(&worker, &file, "new").await;
    assert!(!refused.ok && refused.json["error"] != Value::Null, "{refused:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
}
