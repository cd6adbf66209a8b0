//! What the person sets: groups, folders, remembered decisions, and the settings page. A change is saved first and then
//! takes effect: at once where a running worker allows, else by starting it anew, which waits until AI control is off.

use super::settings::{Language, Settings};
use super::{Person, folders};
use deskhand_core::{GateState, Group, GroupSet};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

impl Person {
    /// Changes the settings, saves them and has them take effect.
    pub(super) fn change(&self, change: impl FnOnce(&mut Settings) -> Result<(), String>) -> Result<(), String> {
        let mut settings = self.0.settings.lock();
        let mut changed = settings.clone();
        change(&mut changed)?;
        if changed == *settings {
            return Ok(());
        }
        changed.save(&self.0.state).map_err(|e| format!("{e:#}"))?;
        let before = std::mem::replace(&mut *settings, changed.clone());
        drop(settings);
        *self.0.settings_told.lock() = None;
        self.take_effect(&before, &changed);
        self.notify();
        Ok(())
    }

    fn take_effect(&self, before: &Settings, now: &Settings) {
        if before.disabled != now.disabled {
            self.0.gate.set_disabled(now.disabled);
        }
        let reached = self.0.running.lock().as_ref().map(|running| (running.host.files.clone(), running.watches.clone()));
        if let Some((files, watches)) = reached {
            if before.folders != now.folders {
                files.set_folders(now.folders.clone());
            }
            if (&before.stop_key, before.takeover) != (&now.stop_key, now.takeover) {
                let armed = watches.arm(&now.options()).map_err(|e| format!("{e:#}"));
                *self.0.problem.lock() = armed.err().map(|why| super::running::unarmed(&why));
            }
        }
        self.restart_when_possible();
    }

    /// Switches a group on or off.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn set_group(&self, group: &str, enabled: bool) -> Result<(), String> {
        let group: Group = group.parse()?;
        if enabled {
            self.may_go_up()?;
        }
        let one = GroupSet::from(group);
        self.change(|settings| {
            settings.disabled = if enabled { settings.disabled.without(one) } else { settings.disabled.with(one) };
            Ok(())
        })
    }

    /// Takes back an "always" or a refusal.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn forget_standing(&self, caller: &str, group: &str) -> Result<(), String> {
        let group: Group = group.parse()?;
        let standing = self.0.gate.standing();
        let (gone, left): (Vec<_>, Vec<_>) = standing.into_iter().partition(|s| s.caller == caller && s.group == group);
        if gone.iter().any(|s| !s.allowed) {
            self.may_go_up()?;
        }
        self.0.gate.set_standing(left);
        Ok(())
    }

    /// What the person should know of a folder.
    #[must_use]
    pub fn examine_folder(&self, path: &Path) -> super::snapshot::FolderInfo {
        let warning = folders::examine(path, dirs::home_dir().as_deref(), self.0.state.path());
        super::snapshot::FolderInfo { path: path.display().to_string(), warning }
    }

    /// Lets agents into a folder.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn add_folder(&self, path: &Path) -> Result<(), String> {
        self.may_go_up()?;
        let real = path.canonicalize().map_err(|e| format!("{} cannot be opened ({e}).", path.display()))?;
        if !real.is_dir() {
            return Err(format!("{} is not a folder.", path.display()));
        }
        if real.starts_with(self.0.state.path().canonicalize().unwrap_or_default()) {
            return Err("That is Deskhand's own folder, which stays closed to agents.".into());
        }
        self.change(|settings| {
            if !settings.folders.contains(&real) {
                settings.folders.push(real);
            }
            Ok(())
        })
    }

    /// Closes a folder again. Always possible.
    ///
    /// # Errors
    /// When the settings cannot be saved.
    pub fn remove_folder(&self, path: &Path) -> Result<(), String> {
        self.change(|settings| {
            settings.folders.retain(|folder| folder != path);
            Ok(())
        })
    }

    /// Changes some of the settings, given as the pages know them.
    ///
    /// # Errors
    /// A sentence for the person; then nothing is changed.
    pub fn set_settings(&self, wanted: &Map<String, Value>) -> Result<(), String> {
        self.may_go_up()?;
        self.change(|settings| {
            for (name, value) in wanted {
                set(settings, name, value)?;
            }
            settings.check().map_err(|e| e.to_string())
        })
    }

    /// Back to the defaults: settings, groups, folders and remembered decisions. AI control ends.
    ///
    /// # Errors
    /// When the settings cannot be saved.
    pub fn reset_settings(&self) -> Result<(), String> {
        self.may_go_up()?;
        self.0.gate.stop("the person reset the settings");
        self.0.gate.set_standing([]);
        self.change(|settings| {
            *settings = Settings { introduced: settings.introduced, port: settings.port, ..Settings::default() };
            Ok(())
        })
    }

    /// The person has been shown around.
    ///
    /// # Errors
    /// When the settings cannot be saved.
    pub fn finish_first_run(&self) -> Result<(), String> {
        self.change(|settings| {
            settings.introduced = true;
            Ok(())
        })
    }

    /// Saves the remembered decisions when the gate has others than the file.
    pub(super) fn keep_standing(&self) {
        let standing = self.0.gate.standing();
        let kept = self.change(|settings| {
            settings.standing = standing;
            Ok(())
        });
        if let Err(why) = kept {
            self.problem(Some(why));
        }
    }

    /// Starts the worker anew if a setting needs it and AI control is off; else that waits.
    pub(super) fn restart_when_possible(&self) {
        if self.restart_needed() && matches!(self.0.gate.state(), GateState::Off { .. }) {
            let person = self.clone();
            self.spawn(async move {
                person.restart().await;
            });
        }
    }

    /// Whether a setting waits for the worker to start anew.
    pub(super) fn restart_needed(&self) -> bool {
        let now = self.0.settings.lock().clone();
        self.0.running.lock().as_ref().is_none_or(|running| running.settings.needs_restart(&now))
    }
}

/// One setting, by the name that pages use.
fn set(settings: &mut Settings, name: &str, value: &Value) -> Result<(), String> {
    fn read<T: serde::de::DeserializeOwned>(name: &str, value: &Value) -> Result<T, String> {
        serde_json::from_value(value.clone()).map_err(|_| format!("{value} cannot be the value of {name}."))
    }
    match name {
        "language" => settings.language = read::<Language>(name, value)?,
        "port" => settings.port = read(name, value)?,
        "stopKey" => settings.stop_key = read::<String>(name, value)?.trim().to_owned(),
        "takeover" => settings.takeover = read(name, value)?,
        "startAtLogin" => settings.start_at_login = read(name, value)?,
        "browser" => settings.browser = read(name, value)?,
        "ocr" => settings.ocr = read(name, value)?,
        "blockOrigins" => {
            let origins: Vec<String> = read(name, value)?;
            settings.block_origins =
                origins.into_iter().map(|o| o.trim().trim_end_matches('/').to_owned()).filter(|o| !o.is_empty()).collect();
        }
        // What is only shown may come back with the rest.
        "ocrLanguages" | "dataFolder" | "restartNeeded" => {}
        _ => return Err(format!("There is no setting called {name}.")),
    }
    Ok(())
}

/// The folder of the unpacked extension, where it is installed.
pub(super) fn extension_folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let beside = program.parent()?;
    let named = std::env::var_os("DESKHAND_EXTENSION").map(PathBuf::from);
    let places = [beside.join("../share/deskhand/extension"), beside.join("extension"), beside.join("../Resources/extension")];
    let found = named.into_iter().chain(places).find(|folder| folder.join("manifest.json").is_file())?;
    found.canonicalize().ok()
}
