//! `deskhand serve` on the command line; the tray app fills the same structure from its settings.

use clap::{Args, ValueEnum};
use deskhand_core::GroupSet;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::str::FromStr;

/// Width and height of a virtual display, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let parsed =
            s.split_once(['x', 'X']).and_then(|(w, h)| Some(Self { width: w.trim().parse().ok()?, height: h.trim().parse().ok()? }));
        parsed.ok_or_else(|| format!("{s:?} is no size; write WIDTHxHEIGHT, such as 1920x1080"))
    }
}

/// What input of the person's own does while an agent acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Takeover {
    /// Pauses AI control.
    Pause,
    /// Is left alone.
    #[default]
    Ignore,
}

/// Which browser agents work in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BrowserChoice {
    /// The person's own when a tab is lent, else the managed one.
    #[default]
    Auto,
    /// A Chromium that Deskhand starts.
    Managed,
    /// The person's own, through the extension.
    Extension,
}

/// Which engine reads the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OcrChoice {
    /// PP-OCR when its models are there, else Tesseract.
    #[default]
    Auto,
    /// PP-OCR.
    Pp,
    /// Tesseract.
    Tesseract,
}

/// How a worker is to run.
#[derive(Args, Clone, Debug)]
pub struct ServeOptions {
    /// Address and port of the endpoint. Anything but loopback makes the endpoint reachable from other machines; the token is needed everywhere.
    #[arg(long, default_value = "127.0.0.1:47800", value_name = "ADDRESS:PORT")]
    pub listen: String,
    /// File with the token (made when missing); default: `token` in the state folder. An empty file refuses everybody.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Groups that callers may use, separated by commas, or `all`. Without it nothing is allowed.
    #[arg(long, value_name = "GROUP,…", default_value = "", value_parser = GroupSet::parse)]
    pub authorize: GroupSet,
    /// A folder that agents may use; may be given several times.
    #[arg(long = "allow-dir", value_name = "DIR")]
    pub allow_dirs: Vec<PathBuf>,
    /// What your own mouse and keyboard do while an agent acts.
    #[arg(long, value_enum, default_value_t)]
    pub takeover: Takeover,
    /// A key that ends AI control at once, such as `ctrl+alt+esc`.
    #[arg(long, value_name = "KEYS")]
    pub stop_key: Option<String>,
    /// The X display to work on, such as `:1`; default: $DISPLAY.
    #[arg(long, value_name = ":N", conflicts_with = "virtual_display")]
    pub display: Option<String>,
    /// Bring up a virtual display of this size and work on it.
    #[arg(long, value_name = "WIDTHxHEIGHT")]
    pub virtual_display: Option<Size>,
    /// Which browser agents work in.
    #[arg(long, value_enum, default_value_t)]
    pub browser: BrowserChoice,
    /// Run the managed browser without a window.
    #[arg(long)]
    pub headless: bool,
    /// The Chromium, Chrome or Edge binary of the managed browser; default: the first one found.
    #[arg(long, value_name = "FILE")]
    pub chromium: Option<PathBuf>,
    /// Attach to a browser that already runs with remote debugging, instead of starting one.
    #[arg(long, value_name = "URL")]
    pub cdp_url: Option<String>,
    /// An origin that pages may never come from; may be given several times.
    #[arg(long = "block-origin", value_name = "ORIGIN")]
    pub block_origins: Vec<String>,
    /// A web origin that may call the endpoint; may be given several times.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    pub allow_origins: Vec<String>,
    /// Which engine reads the screen.
    #[arg(long, value_enum, default_value_t)]
    pub ocr: OcrChoice,
    /// Other MCP servers on this machine whose tools are offered too, as JSON (see the README); default: $EXTRA_MCP_SERVERS.
    #[arg(long, value_name = "JSON", env = "EXTRA_MCP_SERVERS", hide_env_values = true)]
    pub mcp_servers: Option<String>,
    /// A gateway to register with.
    #[arg(long, value_name = "URL", requires = "gateway_token_file")]
    pub gateway: Option<String>,
    /// File with the gateway's token for this user.
    #[arg(long, value_name = "FILE", requires = "gateway")]
    pub gateway_token_file: Option<PathBuf>,
    /// Certificate authority (PEM) of that gateway, trusted beside the system's.
    #[arg(long, value_name = "FILE", requires = "gateway")]
    pub gateway_ca: Option<PathBuf>,
    /// Folder for everything the worker keeps.
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Print one line of JSON on stdout when calls are accepted.
    #[arg(long)]
    pub ready_json: bool,
}

impl Default for ServeOptions {
    /// What the command line means when nothing is given.
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:47800".into(),
            token_file: None,
            authorize: GroupSet::NONE,
            allow_dirs: Vec::new(),
            takeover: Takeover::Ignore,
            stop_key: None,
            display: None,
            virtual_display: None,
            browser: BrowserChoice::Auto,
            headless: false,
            chromium: None,
            cdp_url: None,
            block_origins: Vec::new(),
            allow_origins: Vec::new(),
            ocr: OcrChoice::Auto,
            mcp_servers: None,
            gateway: None,
            gateway_token_file: None,
            gateway_ca: None,
            state_dir: None,
            ready_json: false,
        }
    }
}
