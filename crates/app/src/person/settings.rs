//! What the person set, kept in the state folder: one JSON file that its owner alone may read, written whole or not at all.
//!
//! A file that cannot be understood is put aside, never overwritten: the defaults hold (nothing is allowed by them), and
//! the person is told.

use crate::options::{BrowserChoice, OcrChoice, ServeOptions, Takeover};
use crate::state::{StateFolder, write_private};
use anyhow::{Context, Result, ensure};
use deskhand_core::{GroupSet, Standing};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

const FILE: &str = "settings.json";

/// The language of windows and menus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// What the system says.
    #[default]
    #[serde(rename = "system")]
    System,
    /// English.
    #[serde(rename = "en")]
    English,
    /// Simplified Chinese.
    #[serde(rename = "zh-CN")]
    Chinese,
}

impl Language {
    /// The language that is meant, by the environment where the person left it to the system.
    #[must_use]
    pub fn resolved(self) -> Self {
        let spoken = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
        self.resolved_by(&spoken.unwrap_or_default())
    }

    fn resolved_by(self, system: &str) -> Self {
        match self {
            Self::System if system.to_lowercase().starts_with("zh") => Self::Chinese,
            Self::System => Self::English,
            chosen => chosen,
        }
    }

    /// Its name between pages and app.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }
}

/// Everything the person set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Of windows and menus.
    pub language: Language,
    /// Of the endpoint on 127.0.0.1; 0 takes any free one.
    pub port: u16,
    /// Ends AI control, whatever has the focus.
    pub stop_key: String,
    /// The person's own input pauses AI control.
    pub takeover: bool,
    /// The app starts, hidden, when the person signs in to the system.
    pub start_at_login: bool,
    /// Which browser agents work in.
    pub browser: BrowserChoice,
    /// Which engine reads the screen.
    pub ocr: OcrChoice,
    /// Origins that pages may never come from.
    pub block_origins: Vec<String>,
    /// Groups that are switched off.
    pub disabled: GroupSet,
    /// "Always", and refusals.
    pub standing: Vec<Standing>,
    /// Folders that agents may use.
    pub folders: Vec<PathBuf>,
    /// The person has been shown around.
    pub introduced: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            language: Language::System,
            port: 47800,
            stop_key: "Ctrl+Alt+Esc".into(),
            takeover: true,
            start_at_login: false,
            browser: BrowserChoice::Auto,
            ocr: OcrChoice::Auto,
            block_origins: Vec::new(),
            disabled: GroupSet::off_by_default(),
            standing: Vec::new(),
            folders: Vec::new(),
            introduced: false,
        }
    }
}

impl Settings {
    /// The saved settings, or the defaults with a sentence on why the saved ones do not count.
    #[must_use]
    pub fn load(state: &StateFolder) -> (Self, Option<String>) {
        let path = state.join(FILE);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (Self::default(), None),
            Err(error) => {
                return (Self::default(), Some(format!("The settings in {} cannot be read ({error}); the defaults hold.", path.display())));
            }
        };
        match serde_json::from_slice(&bytes) {
            Ok(settings) => (settings, None),
            Err(error) => {
                let aside = state.join("settings.broken.json");
                let kept = match std::fs::rename(&path, &aside) {
                    Ok(()) => format!("they were put aside as {}", aside.display()),
                    Err(error) => format!("they could not be put aside ({error})"),
                };
                (
                    Self::default(),
                    Some(format!(
                        "The saved settings could not be understood ({error}); {kept}, and the defaults hold. Please look through Settings."
                    )),
                )
            }
        }
    }

    /// Saves them.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    pub fn save(&self, state: &StateFolder) -> Result<()> {
        write_private(&state.join(FILE), &serde_json::to_vec_pretty(self)?).context("the settings could not be saved")
    }

    /// The worker that these settings mean.
    #[must_use]
    pub fn options(&self) -> ServeOptions {
        ServeOptions {
            listen: format!("127.0.0.1:{}", self.port),
            allow_dirs: self.folders.clone(),
            takeover: if self.takeover { Takeover::Pause } else { Takeover::Ignore },
            stop_key: Some(self.stop_key.clone()),
            browser: self.browser,
            ocr: self.ocr,
            block_origins: self.block_origins.clone(),
            mcp_servers: std::env::var("EXTRA_MCP_SERVERS").ok(),
            ..ServeOptions::default()
        }
    }

    /// Whether a worker that runs with `self` has to start anew for `other`.
    #[must_use]
    pub fn needs_restart(&self, other: &Self) -> bool {
        (self.port, self.browser, self.ocr) != (other.port, other.browser, other.ocr) || self.block_origins != other.block_origins
    }

    /// Refuses what cannot be meant.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn check(&self) -> Result<()> {
        ensure!(self.port == 0 || self.port >= 1024, "The port must be between 1024 and 65535.");
        let keys = deskhand_desktop::input::chord(&[self.stop_key.as_str()]);
        keys.with_context(|| format!("{:?} is no key combination; write it like Ctrl+Alt+Esc.", self.stop_key))?;
        for origin in &self.block_origins {
            let parsed = url::Url::parse(origin).ok().filter(|u| matches!(u.scheme(), "http" | "https") && u.has_host());
            ensure!(parsed.is_some(), "{origin:?} is no origin; write it like https://example.com.");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, StateFolder) {
        let dir = tempfile::tempdir().unwrap();
        let state = StateFolder::open(Some(dir.path())).unwrap();
        (dir, state)
    }

    #[test]
    fn what_was_set_is_there_again_and_nobody_else_reads_it() {
        let (_dir, state) = folder();
        assert_eq!(Settings::load(&state), (Settings::default(), None));
        let standing = Standing { caller: "client:cursor".into(), group: deskhand_core::Group::Mouse, allowed: true };
        let changed = Settings { language: Language::Chinese, port: 5000, standing: vec![standing], ..Settings::default() };
        changed.save(&state).unwrap();
        assert_eq!(Settings::load(&state), (changed, None));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(state.join(FILE)).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_broken_file_allows_nothing_is_kept_aside_and_told() {
        let (_dir, state) = folder();
        for broken in ["{", r#"{"disabled": ["nonsense"]}"#, r#"{"port": "x"}"#] {
            std::fs::write(state.join(FILE), broken).unwrap();
            let (settings, told) = Settings::load(&state);
            assert_eq!(settings, Settings::default());
            assert!(told.unwrap().contains("settings.broken.json"));
            assert_eq!(std::fs::read_to_string(state.join("settings.broken.json")).unwrap(), broken);
        }
        // What a later version wrote besides is no fault.
        std::fs::write(state.join(FILE), r#"{"takeover": false, "of_tomorrow": 1}"#).unwrap();
        assert!(!Settings::load(&state).0.takeover);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_in_a_sentence() {
        let with = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings.check().map_err(|e| e.to_string())
        };
        assert!(with(|_| {}).is_ok());
        assert!(with(|s| s.port = 80).unwrap_err().contains("1024"));
        assert!(with(|s| s.stop_key = "Ctrl+Nonsense".into()).unwrap_err().contains("Ctrl+Alt+Esc"));
        assert!(with(|s| s.block_origins = vec!["javascript:1".into()]).unwrap_err().contains("https://example.com"));
    }

    #[test]
    fn the_system_decides_the_language_where_the_person_does_not() {
        assert_eq!(Language::System.resolved_by("zh_CN.UTF-8"), Language::Chinese);
        assert_eq!(Language::System.resolved_by("de_DE.UTF-8"), Language::English);
        assert_eq!(Language::English.resolved_by("zh_CN.UTF-8"), Language::English);
    }
}
