//! Act two, once more: the same task through the extension, in a second Chromium that plays the person's own. It has the
//! extension as it is shipped; the code of the worker is typed into the popup's fields, and the tab is lent by its button.

use crate::Stage;
use crate::client::{Client, Process};
use crate::page::Board;
use crate::person::Person;
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};

/// A one-time code, as the person reads it.
fn code(stage: &Stage) -> String {
    let mut command = Command::new(&stage.bin);
    let said = command.arg("pair").arg("--state-dir").arg(stage.out.join("state")).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let code = text.lines().find_map(|line| line.strip_prefix("Code:")).unwrap_or_else(|| panic!("no code in {text:?}"));
    code.trim().to_owned()
}

/// Plays it.
pub async fn play(stage: &Stage, worker: &Process, client: &Client, board: &Board) {
    let environment = worker.display_variables();
    let extension = Path::new(env!("CARGO_MANIFEST_DIR")).join("extension");
    let person = Person::start_in(environment, &stage.out.join("person"), &extension, &[]).await;
    stage.step("a person's Chromium is open, with the extension");
    let address = worker.ready["mcp_url"].as_str().unwrap().trim_start_matches("http://").split('/').next().unwrap().to_owned();
    person.pair(&address, &code(stage), "Chromium of Han Meimei").await;
    stage.step("the code of `deskhand pair` was typed into the popup, and the browser is paired");
    let target = person.open(&board.address).await;
    person.lend(&target).await;
    stage.step("the person lent one tab with \"Authorize AI control of this tab\"");
    stage.picture(client, "lent").await;
    let tabs = client.call("browser_tabs_list", json!({})).await;
    let lent = tabs.json["tabs"].as_array().into_iter().flatten().find(|t| t["browser"] == "Chromium of Han Meimei");
    let lent = lent.unwrap_or_else(|| panic!("the lent tab is not listed: {}", tabs.text));
    client.call("browser_tab_select", json!({ "tabId": lent["id"] })).await;
    stage.step("the agent sees it among its tabs and chose it");
    board.task(stage, client, "lent").await;
    let now = client.call("browser_current_tab", json!({})).await;
    assert_eq!(now.json["tab"]["browser"], "Chromium of Han Meimei", "{}", now.text);
    drop(person);
}
