//! What the pages show, whole and at once, in the shape that `ui/bridge.d.ts` promises. `shown` builds it from plain values.
//! No token and no private text is in it.

use super::folders::Warning;
use crate::options::{BrowserChoice, OcrChoice};
use serde::Serialize;

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct Snapshot {
    pub version: &'static str,
    pub language: &'static str,
    pub first_run: bool,
    pub problem: Option<String>,
    pub control: Control,
    pub acting: Option<Acting>,
    pub question: Option<Question>,
    pub groups: Vec<GroupInfo>,
    pub callers: Vec<CallerInfo>,
    pub standing: Vec<StandingInfo>,
    pub folders: Vec<FolderInfo>,
    pub browser: BrowserState,
    pub gateway: GatewayState,
    pub settings: SettingsInfo,
    pub tray: bool,
    /// Whether the worker runs; for the app alone.
    #[serde(skip)]
    pub runs: bool,
}

/// Whether AI control is on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct Control {
    pub state: &'static str,
    pub why: Option<String>,
    pub reason: Option<&'static str>,
    pub groups: Vec<&'static str>,
    pub callers: Option<Vec<String>>,
    pub until: Option<u64>,
}

/// The call that runs now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct Acting {
    pub caller: String,
    pub caller_name: String,
    pub tool: String,
}

/// The question on the screen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct Question {
    pub id: u64,
    pub kind: &'static str,
    pub group: Option<&'static str>,
    pub caller: String,
    pub caller_name: String,
    pub program: Option<String>,
    pub tool: String,
    pub tool_summary: String,
    pub arguments: String,
    pub waiting: usize,
    pub expires: u64,
}

/// A permission group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct GroupInfo {
    pub name: &'static str,
    pub meaning: &'static str,
    pub enabled: bool,
    pub tools: Vec<GroupTool>,
}

/// A tool of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct GroupTool {
    pub name: String,
    pub summary: String,
    pub changes: bool,
}

/// Somebody who may ask.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct CallerInfo {
    pub id: String,
    pub kind: &'static str,
    pub name: String,
    pub last_seen: Option<u64>,
}

/// A remembered decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct StandingInfo {
    pub caller: String,
    pub caller_name: String,
    pub group: &'static str,
    pub allowed: bool,
}

/// A folder.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct FolderInfo {
    pub path: String,
    pub warning: Option<Warning>,
}

/// The person's browsers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct BrowserState {
    pub choice: BrowserChoice,
    pub pairing: Option<Pairing>,
    pub paired: Vec<Paired>,
    pub extension_folder: Option<String>,
}

/// A code that waits to be typed into the extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct Pairing {
    pub code: String,
    pub address: String,
    pub expires: u64,
}

/// A paired browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct Paired {
    pub id: String,
    pub name: String,
    pub connected: bool,
    pub preferred: bool,
}

/// The way to a gateway.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct GatewayState {
    pub state: &'static str,
    pub server: Option<String>,
    pub user: Option<String>,
    pub since: Option<u64>,
    pub last_error: Option<String>,
}

/// What the person set.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct SettingsInfo {
    pub language: &'static str,
    pub port: u16,
    pub stop_key: String,
    pub takeover: bool,
    pub start_at_login: bool,
    pub browser: BrowserChoice,
    pub ocr: OcrChoice,
    pub ocr_languages: Vec<String>,
    pub block_origins: Vec<String>,
    pub data_folder: String,
    pub restart_needed: bool,
}
