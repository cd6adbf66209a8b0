//! The whole of what the pages show, gathered; and the pages' orders about browsers, gateway and log.

use super::shown::{groups, kind_of, millis, name_of, standing};
use super::snapshot::{Acting, BrowserState, CallerInfo, Control, GatewayState, Paired, Pairing, Question, SettingsInfo, Snapshot};
use super::{Person, folders, preferences};
use deskhand_core::GateState;
use deskhand_executor::{Address, Credentials, Status};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

impl Person {
    /// See [`Snapshot`].
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let settings = self.settings();
        let state = self.0.gate.state();
        let problem = self.0.problem.lock().clone().or_else(|| self.0.settings_told.lock().clone());
        let data = self.0.state.path();
        let home = dirs::home_dir();
        let folder = |path: &std::path::PathBuf| super::snapshot::FolderInfo {
            path: path.display().to_string(),
            warning: folders::examine(path, home.as_deref(), data),
        };
        let restart_needed = self.0.running.lock().is_some() && self.restart_needed();
        Snapshot {
            version: crate::VERSION,
            language: settings.language.resolved().tag(),
            first_run: !settings.introduced,
            problem,
            control: Control::of(&state),
            acting: self.acting(),
            question: self.0.questions.front().map(|front| Question::of(&front, &self.0.tools)),
            groups: groups(&self.0.tools, self.0.gate.disabled()),
            callers: self.callers(&state),
            standing: standing(&self.0.gate.standing()),
            folders: settings.folders.iter().map(folder).collect(),
            browser: self.browser(&settings),
            gateway: self.gateway(),
            settings: SettingsInfo::of(&settings, deskhand_desktop::ocr::languages(), data.display().to_string(), restart_needed),
            tray: self.has_tray(),
            runs: self.0.running.lock().is_some(),
        }
    }

    fn acting(&self) -> Option<Acting> {
        // A call that waits for the person acts not yet.
        if self.0.questions.front().is_some() || !matches!(self.0.gate.state(), GateState::Authorised { .. }) {
            return None;
        }
        let running = self.0.activity.running();
        running.last().map(|e| Acting { caller: e.caller.clone(), caller_name: e.caller_name.clone(), tool: e.tool.clone() })
    }

    /// Everybody who has a token here, who asked since the start, and who is named in a decision.
    fn callers(&self, state: &GateState) -> Vec<CallerInfo> {
        let seen = self.0.seen.lock().clone();
        let mut ids: BTreeSet<String> = ["main".to_owned()].into();
        ids.extend(client_names(self.0.state.path()).into_iter().map(|name| format!("client:{name}")));
        ids.extend(seen.keys().cloned());
        ids.extend(self.0.gate.standing().into_iter().map(|s| s.caller));
        if let GateState::Authorised { callers: deskhand_core::Callers::Only(only), .. } = state {
            ids.extend(only.iter().cloned());
        }
        let status = self.status();
        if let (Some(server), Some(user)) = (&status.server, &status.user)
            && let Ok(address) = Address::parse(server)
        {
            ids.insert(format!("gateway:{user}@{}", address.host()));
        }
        let of = |id: String| CallerInfo { kind: kind_of(&id), name: name_of(&id), last_seen: seen.get(&id).copied(), id };
        ids.into_iter().map(of).collect()
    }

    fn browser(&self, settings: &super::Settings) -> BrowserState {
        let running = self.0.running.lock();
        let relay = running.as_ref().map(|running| running.relay.clone());
        drop(running);
        let mut pairing = self.0.pairing.lock();
        let alive = relay.as_ref().is_some_and(deskhand_browser::extension::Relay::pairing);
        *pairing = pairing.take().filter(|_| alive);
        let paired = relay.map(|relay| relay.browsers()).unwrap_or_default();
        let of = |b: deskhand_browser::extension::PairedBrowser| Paired {
            id: b.id,
            name: b.name,
            connected: b.connected,
            preferred: b.preferred,
        };
        BrowserState {
            choice: settings.browser,
            pairing: pairing.clone(),
            paired: paired.into_iter().map(of).collect(),
            extension_folder: preferences::extension_folder().map(|f| f.display().to_string()),
        }
    }

    fn status(&self) -> Status {
        self.0.running.lock().as_ref().map(|running| running.executor.status()).unwrap_or_default()
    }

    fn gateway(&self) -> GatewayState {
        GatewayState::of(&self.status())
    }

    fn relay(&self) -> Result<deskhand_browser::extension::Relay, String> {
        self.0
            .running
            .lock()
            .as_ref()
            .map(|running| running.relay.clone())
            .ok_or_else(|| "Deskhand does not run now; see the problem above.".into())
    }

    /// Shows a one-time code for pairing a browser.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn start_pairing(&self) -> Result<(), String> {
        self.may_go_up()?;
        let code = self.relay()?.start_pairing();
        let address = self.0.running.lock().as_ref().map(|running| running.address.clone()).unwrap_or_default();
        let expires = SystemTime::now() + code.expires_in;
        *self.0.pairing.lock() = Some(Pairing { code: code.to_string(), address, expires: millis(expires) });
        let (person, life) = (self.clone(), code.expires_in);
        self.spawn(async move {
            tokio::time::sleep(life).await;
            person.notify();
        });
        self.notify();
        Ok(())
    }

    /// Takes the code back.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn stop_pairing(&self) -> Result<(), String> {
        self.relay()?.stop_pairing();
        *self.0.pairing.lock() = None;
        self.notify();
        Ok(())
    }

    /// Gives a paired browser another name.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn rename_browser(&self, id: &str, name: &str) -> Result<(), String> {
        self.relay()?.rename(id, name).map_err(|e| e.to_string())?;
        self.notify();
        Ok(())
    }

    /// Says which paired browser is taken first.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn prefer_browser(&self, id: Option<&str>) -> Result<(), String> {
        self.relay()?.prefer(id).map_err(|e| e.to_string())?;
        self.notify();
        Ok(())
    }

    /// Lets a paired browser in no longer. Always possible.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn revoke_browser(&self, id: &str) -> Result<(), String> {
        self.relay()?.revoke(id).map_err(|e| e.to_string())?;
        self.notify();
        Ok(())
    }

    fn executor(&self) -> Result<std::sync::Arc<deskhand_executor::Executor>, String> {
        self.0
            .running
            .lock()
            .as_ref()
            .map(|running| running.executor.clone())
            .ok_or_else(|| "Deskhand does not run now; see the problem above.".into())
    }

    /// Signs in to a gateway.
    ///
    /// # Errors
    /// A sentence for the person.
    pub async fn sign_in(&self, server: &str, user: &str, password: String, accept_plain: bool) -> Result<(), String> {
        self.may_go_up()?;
        let address = Address::parse(server).map_err(|e| e.to_string())?;
        let credentials =
            Credentials { address, user: user.trim().to_owned(), password, ca: Vec::new(), plain_http_accepted: accept_plain };
        self.executor()?.sign_in(credentials, None).await.map_err(|e| e.to_string())?;
        self.notify();
        Ok(())
    }

    /// Signs out. Always possible.
    ///
    /// # Errors
    /// A sentence for the person.
    pub async fn sign_out(&self) -> Result<(), String> {
        self.executor()?.sign_out().await.map_err(|e| e.to_string())?;
        self.notify();
        Ok(())
    }

    /// Connects to the gateway again.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn reconnect_gateway(&self) -> Result<(), String> {
        self.may_go_up()?;
        self.executor()?.reconnect();
        Ok(())
    }

    /// Empties the log; its first line then says so.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn clear_activity(&self) -> Result<(), String> {
        self.may_go_up()?;
        let running = self.0.running.lock();
        let audit = running.as_ref().map(|running| std::sync::Arc::clone(running.dispatcher.audit()));
        drop(running);
        audit.ok_or("Deskhand does not run now; see the problem above.")?.clear().map_err(|e| e.to_string())?;
        self.0.activity.forget_pictures();
        self.notify();
        Ok(())
    }
}

/// Clients that have a token here.
fn client_names(state: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(state.join("clients")).into_iter().flatten().flatten();
    entries.filter(|e| e.file_type().is_ok_and(|t| t.is_file())).filter_map(|e| e.file_name().into_string().ok()).collect()
}
