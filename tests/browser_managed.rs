//! The managed Chromium as a process. Rows B158, B162, B172, B178 of the public reports, and their kind.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::rig::Rig;
use crate::support::server::Server;
use crate::support::worker::{PATIENCE, Worker};
use serde_json::json;

/// Processes with this profile on their command line that are no helper of another one.
fn browsers(profile: &Path) -> Vec<i32> {
    let wanted = format!("--user-data-dir={}", profile.display());
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = all.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    numbers
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.split('\0').any(|a| a == wanted) && !line.contains("--type=") && !line.starts_with("/bin/sh")
        })
        .collect()
}

async fn until(what: &str, done: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn end(pid: i32) {
    // SAFETY: a browser that this test's worker started.
    #[allow(unsafe_code)]
    unsafe {
        libc::kill(pid, libc::SIGKILL);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_started_when_needed_opens_no_port_and_ends_with_the_worker() {
    let rig = Rig::managed().await;
    let profile = rig.worker.state.join("chromium");
    assert!(browsers(&profile).is_empty(), "nothing runs before it is needed");
    assert_eq!(rig.done("tabs_list", json!({})).await["tabs"], json!([]));
    rig.open("x").await;
    let [pid] = browsers(&profile)[..] else { panic!("one browser") };
    let line = String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap()).into_owned();
    assert!(line.contains("--remote-debugging-pipe") && !line.contains("remote-debugging-port"), "{line}");
    let info = rig.done("get_info", json!({})).await;
    assert!(info["viewport"]["width"].as_u64().unwrap() > 0 && info["user_agent"].as_str().unwrap().contains("Chrom"), "{info}");
    rig.worker.signal(libc::SIGKILL);
    until("no browser is left behind", || browsers(&profile).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_it_crashed_it_is_started_again_and_old_numbers_stay_unknown() {
    let rig = Rig::managed().await;
    let profile = rig.worker.state.join("chromium");
    rig.open("x").await;
    let old = rig.current().await["id"].clone();
    browsers(&profile).into_iter().for_each(end);
    let said = rig.fails("get_content", json!({})).await;
    assert!(said.contains("gone"), "{said}");
    rig.works().await;
    let answer = rig.call("tab_close", json!({"tabId": old})).await;
    assert_eq!(answer.json["error"], "not_found", "{}", answer.text);
    assert_ne!(rig.current().await["id"], old);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_page_is_named_and_comes_back_by_reloading() {
    let rig = Rig::managed().await;
    rig.open("<p>back</p>").await;
    let profile = rig.worker.state.join("chromium");
    let [browser] = browsers(&profile)[..] else { panic!("one browser") };
    let stat = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    for pid in all.filter(|p| *p != browser && stat(*p).contains("--type=renderer") && stat(*p).contains(&*profile.to_string_lossy())) {
        end(pid);
    }
    let said = loop {
        let answer = rig.call("get_content", json!({})).await;
        if !answer.ok {
            break answer.text;
        }
    };
    assert!(said.contains("crashed"), "{said}");
    rig.done("reload", json!({})).await;
    assert_eq!(rig.done("get_content", json!({})).await["content"], "back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_worker_s_profile_is_free_for_the_next_one_with_new_numbers() {
    let rig = Rig::managed().await;
    rig.open("<p>one</p>").await;
    let old = rig.current().await["id"].as_i64().unwrap();
    let Rig { worker, web, server, .. } = rig;
    let folder = worker.into_folder().await;
    let worker = Worker::again(Some(server.name()), &["--authorize", "all", "--browser", "managed"], folder).await;
    let opened = worker.call("browser_navigate", json!({"url": web.page("/two", "two")})).await.success();
    assert_eq!(opened.json["success"], true);
    let tabs = worker.call("browser_tabs_list", json!({})).await.success();
    assert!(tabs.json["tabs"].as_array().unwrap().iter().all(|t| t["id"].as_i64().unwrap() > old), "{}", tabs.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_that_another_browser_holds_is_one_clear_error() {
    let server = Server::managed("1280x900x24");
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("state/chromium");
    std::fs::create_dir_all(&profile).unwrap();
    let mut command = tokio::process::Command::new("chromium");
    command.arg(format!("--user-data-dir={}", profile.display())).args([
        "--no-sandbox",
        "--no-first-run",
        "--headless=new",
        "--remote-debugging-port=0",
        "about:blank",
    ]);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).process_group(0).kill_on_drop(true);
    let mut other = command.spawn().unwrap();
    until("the other browser holds the profile", || std::fs::read_link(profile.join("SingletonLock")).is_ok()).await;
    let worker = Worker::again(Some(server.name()), &["--authorize", "all", "--browser", "managed"], folder).await;
    let answer = worker.call("browser_navigate", json!({"url": "about:blank"})).await;
    assert!(answer.json["error"] == "unavailable" && answer.text.contains("in use") && answer.text.contains("process"), "{}", answer.text);
    other.kill().await.unwrap();
    worker.call("browser_navigate", json!({"url": "about:blank"})).await.success();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_conversations_have_tabs_of_their_own() {
    let rig = Rig::managed_with(&["--headless"]).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        let answer = client.post(&rig.worker.url).bearer_auth(&rig.worker.token).json(&hello).send().await.unwrap();
        sessions.push(answer.headers()["mcp-session-id"].to_str().unwrap().to_owned());
    }
    let call = async |n: usize, tool: &str, arguments: serde_json::Value| {
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
        let request = client
            .post(&rig.worker.url)
            .bearer_auth(&rig.worker.token)
            .header("mcp-session-id", &sessions[n])
            .header("accept", "application/json, text/event-stream")
            .json(&body);
        request.send().await.unwrap().text().await.unwrap()
    };
    for (n, path) in [(0, "/one"), (1, "/two")] {
        let opened = call(n, "browser_navigate", json!({"url": rig.web.page(path, path)})).await;
        assert!(!opened.contains("\"isError\":true"), "{opened}");
    }
    for (n, path, other) in [(0, "/one", "/two"), (1, "/two", "/one")] {
        let read = call(n, "browser_get_content", json!({})).await;
        assert!(read.contains(path) && !read.contains(other), "{read}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_persons_own_profile_is_refused_also_behind_a_link() {
    let folder = tempfile::tempdir().unwrap();
    // The worker's home is its folder; its state folder is made a link to where browsers keep their default profiles.
    let own = folder.path().join(".config");
    std::fs::create_dir_all(own.join("chromium")).unwrap();
    std::os::unix::fs::symlink(&own, folder.path().join("state")).unwrap();
    let worker = Worker::again(None, &["--authorize", "all", "--browser", "managed", "--headless"], folder).await;
    let begun = Instant::now();
    for _ in 0..2 {
        let said = worker.call("browser_navigate", json!({"url": "about:blank"})).await.error("unavailable");
        assert!(said.contains("default profile") && said.contains("extension"), "{said}");
    }
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(std::fs::read_dir(own.join("chromium")).unwrap().count(), 0, "nothing was changed in it");
}
