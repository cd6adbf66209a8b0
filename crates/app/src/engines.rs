//! Opens the engines that the tools work on, and ties the browser's rules to the allowed folders.

use crate::options::{BrowserChoice, OcrChoice, ServeOptions};
use crate::state::StateFolder;
use anyhow::{Context, Result};
use deskhand_browser::extension::{Relay, Settings};
use deskhand_browser::managed::Launch;
use deskhand_browser::{Browsers, Choice as Which, FileRule, Policy, Setup, Source, TabIds, UploadRule};
use deskhand_desktop::held::release_orphans;
use deskhand_desktop::input::{Desktop, OpenOptions};
use deskhand_desktop::ocr::{Choice, Reader, ReaderOptions};
use deskhand_desktop::screen::Display;
use deskhand_desktop::session::Session;
use deskhand_files::{Cancel, Files, Upload};
use deskhand_tools::Host;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

/// Copies lent to pages for upload; older ones are removed.
const LENT: usize = 32;

/// What a worker works with.
pub(crate) struct Engines {
    pub(crate) host: Arc<Host>,
    pub(crate) relay: Relay,
}

impl Engines {
    /// Nothing is started or connected yet, so this works without a display or a browser.
    ///
    /// # Errors
    /// When the list of paired browsers cannot be read, or a blocked origin is none.
    pub(crate) fn open(options: &ServeOptions, state: &StateFolder, display_name: Option<String>) -> Result<Self> {
        // Copies that a killed worker lent to pages.
        let _ = std::fs::remove_dir_all(state.join("uploads"));
        let journal = state.join("held.json");
        release_earlier(&journal);
        let display = Arc::new(Display::new(display_name.clone()));
        let files = Arc::new(files(options, state));
        let ids = Arc::new(TabIds::kept_in(&state.join("tab-ids")));
        let worker = format!("Deskhand on {}", host_name());
        let relay =
            Relay::open(Settings { store: state.join("browsers.json"), worker, version: crate::VERSION.into(), ids: Arc::clone(&ids) })?;
        let policy = policy(options, state, &files)?;
        let source = match &options.cdp_url {
            Some(url) => Source::Attach(url.clone()),
            None => Source::Launch(launch(options, state, display_name.clone())),
        };
        let browsers = Browsers::new(Setup { choice: which(options.browser), source, relay: Some(relay.clone()), policy, ids });
        let host = Host {
            desktop: Desktop::open(OpenOptions { display: display_name, journal: Some(journal) }),
            session: Session::new(Arc::clone(&display)),
            display,
            frames: deskhand_tools::frames::Frames::default(),
            reader: Reader::new(ReaderOptions { engine: engine(options.ocr), ..ReaderOptions::default() }),
            files,
            browsers,
        };
        Ok(Self { host: Arc::new(host), relay })
    }
}

/// The allowed folders. Closed in them are this worker's state, the person's own (another worker's, when this one has a
/// folder of its own), and the files that tokens are in.
fn files(options: &ServeOptions, state: &StateFolder) -> Files {
    let (own, token) = (StateFolder::usual(), state.join("token"));
    let files = [Some(token.as_path()), options.token_file.as_deref(), options.gateway_token_file.as_deref()];
    let closed = [Some(state.path()), own.as_deref()].into_iter().chain(files);
    closed.flatten().fold(Files::new(options.allow_dirs.clone(), dirs::home_dir()), Files::with_closed)
}

fn release_earlier(journal: &std::path::Path) {
    match release_orphans(journal) {
        Ok(released) if released.keys + released.buttons + released.lent > 0 => {
            tracing::warn!(?released, "let go of what an earlier worker left held")
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "what an earlier worker held could not be let go of"),
    }
}

fn which(choice: BrowserChoice) -> Which {
    match choice {
        BrowserChoice::Auto => Which::Auto,
        BrowserChoice::Managed => Which::Managed,
        BrowserChoice::Extension => Which::Extension,
    }
}

fn engine(choice: OcrChoice) -> Choice {
    match choice {
        OcrChoice::Auto => Choice::Auto,
        OcrChoice::Pp => Choice::Pp,
        OcrChoice::Tesseract => Choice::Tesseract,
    }
}

fn launch(options: &ServeOptions, state: &StateFolder, display: Option<String>) -> Launch {
    Launch {
        executable: options.chromium.clone(),
        profile: state.join("chromium"),
        downloads: state.join("downloads"),
        headless: options.headless,
        display,
        extra_flags: Vec::new(),
    }
}

fn policy(options: &ServeOptions, state: &StateFolder, files: &Arc<Files>) -> Result<Policy> {
    let for_pages = Arc::clone(files);
    let pages: FileRule = Arc::new(move |path| {
        let url = url::Url::from_file_path(path).map_err(|()| "it is no full path".to_owned())?;
        for_pages.check_file_url(url.as_str(), Cancel::never()).map(|_| ()).map_err(|e| e.to_string())
    });
    let (for_uploads, folder) = (Arc::clone(files), state.join("uploads"));
    let lent: Mutex<VecDeque<Upload>> = Mutex::default();
    let uploads: UploadRule = Arc::new(move |path| {
        private_folder(&folder).map_err(|e| e.to_string())?;
        let upload = for_uploads.open_for_upload(path, &folder, Cancel::never()).map_err(|e| e.to_string())?;
        let copy: PathBuf = upload.path().to_owned();
        let mut lent = lent.lock();
        lent.push_back(upload);
        if lent.len() > LENT {
            lent.pop_front();
        }
        Ok(copy)
    });
    Policy::new(&options.block_origins, pages, uploads).map_err(anyhow::Error::msg).context("--block-origin")
}

fn private_folder(path: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(path)?;
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

/// What the person calls this machine.
fn host_name() -> String {
    #[cfg(unix)]
    let name = Some(rustix::system::uname().nodename().to_string_lossy().into_owned());
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").ok();
    name.filter(|n| !n.is_empty()).unwrap_or_else(|| "this machine".into())
}
