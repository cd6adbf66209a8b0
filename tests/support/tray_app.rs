//! The tray app on a desktop of its own: display, window manager, session bus with a tray, home folder. The person works
//! in its windows (WebDriver), its tray (D-Bus) and, where a hand matters, with mouse and keys of another X client.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

use super::eye;
use super::server::Server;
use super::tray_host::{Bus, TrayHost};
use super::webdriver::{Driver, View};
use super::worker::{Answer, PATIENCE};

/// Colours of the icon: see `look` of the tray app.
pub const OFF: [u8; 3] = [0x6b, 0x72, 0x80];
pub const READY: [u8; 3] = [0x15, 0x80, 0x3d];
pub const ACTING: [u8; 3] = [0x1d, 0x4e, 0xd8];
pub const PAUSED: [u8; 3] = [0xb4, 0x53, 0x09];
pub const PROBLEM: [u8; 3] = [0xb9, 0x1c, 0x1c];

/// Where a tray app lives; it outlives the app, so that another start goes on in it.
pub struct Home {
    pub server: Server,
    pub bus: Bus,
    tray: Option<TrayHost>,
    pub state: PathBuf,
    folder: TempDir,
}

impl Home {
    /// With a tray, and a person who has been shown around.
    pub fn new() -> Self {
        Self::with(true, &json!({}))
    }

    /// With more settings than that, or without a tray.
    pub fn with(tray: bool, more: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The person's own place, so that programs that clients start find it too.
        let state = folder.path().join("home/.local/state/deskhand");
        for name in ["home/.local/state/deskhand", "home/.config", "runtime", "tmp"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        private(&folder.path().join("runtime"));
        let mut settings = json!({ "port": 0, "introduced": true, "language": "en" });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        std::fs::write(state.join("settings.json"), settings.to_string()).unwrap();
        let server = Server::managed("1280x900x24");
        let bus = Bus::start(folder.path());
        let tray = Some(TrayHost::start(&bus, tray));
        Self { server, bus, tray, state, folder }
    }

    /// The tray, for a test that looks at it or chooses from its menu.
    pub fn take_tray(&mut self) -> TrayHost {
        self.tray.take().expect("it is taken once")
    }

    /// The person's home folder.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// What the app says on stderr.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("tray.log")).unwrap_or_default()
    }

    /// The environment of this desktop's session.
    pub fn session(&self, command: &mut Command) {
        for name in ["WAYLAND_DISPLAY", "XAUTHORITY", "LC_ALL", "LC_MESSAGES", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
            command.env_remove(name);
        }
        let home = self.path();
        command.env("DISPLAY", self.server.name()).env("DBUS_SESSION_BUS_ADDRESS", &self.bus.address).env("HOME", &home);
        command.env("XDG_CONFIG_HOME", home.join(".config")).env("XDG_RUNTIME_DIR", self.folder.path().join("runtime"));
        command.env("TMPDIR", self.folder.path().join("tmp")).env("LANG", "C.UTF-8").env("GDK_BACKEND", "x11").env("NO_AT_BRIDGE", "1");
        command.env("DESKHAND_EXTENSION", Path::new(env!("CARGO_MANIFEST_DIR")).join("extension"));
        // The driver's processes and WebKit's draw without a graphics card.
        command.env("LIBGL_ALWAYS_SOFTWARE", "1").env("WEBKIT_DISABLE_DMABUF_RENDERER", "1");
        if let (None, Some(home)) = (std::env::var_os("DESKHAND_MODELS"), std::env::home_dir()) {
            command.env("DESKHAND_MODELS", home.join(".local/share/deskhand/models"));
        }
    }

    /// Starts the app and waits until its main window shows a page and calls are accepted.
    pub async fn start(&self) -> TrayApp<'_> {
        let driver = self.drive().await;
        TrayApp { home: self, driver, main: self.caller("main").await }
    }

    /// The same where its worker cannot start; nobody can call then.
    pub async fn start_troubled(&self) -> TrayApp<'_> {
        let driver = self.drive().await;
        TrayApp { home: self, driver, main: Caller::new("http://127.0.0.1:1/mcp", "") }
    }

    async fn drive(&self) -> Driver {
        let log = self.folder.path().join("tray.log");
        let driver = Driver::start(|command| self.session(command), &log, &binary()).await;
        driver.view("index").await;
        driver
    }

    /// Starts the app without a driver.
    pub fn spawn(&self, arguments: &[&str]) -> Spawned {
        use std::os::unix::process::CommandExt as _;
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.folder.path().join("tray.log")).unwrap();
        let mut command = Command::new(binary());
        self.session(&mut command);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Spawned(command.process_group(0).spawn().unwrap())
    }

    /// Somebody who calls: `main`, or a client with a token of its own, which is made if need be.
    pub async fn caller(&self, name: &str) -> Caller {
        let token = if name == "main" { self.state.join("token") } else { self.state.join("clients").join(name) };
        if name != "main" && !token.exists() {
            std::fs::create_dir_all(self.state.join("clients")).unwrap();
            private(&self.state.join("clients"));
            let digits = format!("{:064x}", u128::from_le_bytes(std::array::from_fn(|i| name.as_bytes().get(i).copied().unwrap_or(7))));
            std::fs::write(&token, digits).unwrap();
            std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        }
        let file = self.state.join("worker.json");
        let end = Instant::now() + PATIENCE;
        loop {
            let told = std::fs::read(&file).ok().and_then(|b| serde_json::from_slice::<Value>(&b).ok());
            if let (Some(told), Ok(token)) = (told, std::fs::read_to_string(&token)) {
                return Caller::new(told["mcp_url"].as_str().unwrap(), token.trim());
            }
            assert!(Instant::now() < end, "no worker runs in the tray app: {}", self.log());
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// The lines of the audit log.
    pub fn audit(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.state.join("audit.jsonl")).unwrap_or_default();
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let name = std::thread::current().name().unwrap_or("test").replace("::", "-");
        let picture = pictures().join(format!("failed-{name}.png"));
        let _ = Command::new("import").args(["-window", "root"]).arg(&picture).env("DISPLAY", self.server.name()).status();
        eprintln!("the screen is in {}; the app said:\n{}", picture.display(), self.log());
    }
}

/// Where pictures are kept.
fn pictures() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tray-pictures");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn private(folder: &Path) {
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
}

/// The app, beside the program that clients start.
pub fn binary() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_deskhand")).with_file_name("deskhand-tray");
    assert!(binary.is_file(), "{} is missing; build it: cargo build --workspace --bin deskhand-tray", binary.display());
    binary
}

/// A tray app without a driver; its group is killed when dropped.
pub struct Spawned(pub Child);

impl Spawned {
    /// Waits for its own end, which must be a good one.
    #[track_caller]
    pub fn ends(&mut self) {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            assert!(Instant::now() < end, "it does not end");
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        if let Ok(group) = i32::try_from(self.0.id()) {
            // SAFETY: ends a group that we started and still hold.
            #[allow(unsafe_code)]
            unsafe {
                libc::kill(-group, libc::SIGKILL);
            }
        }
        let _ = self.0.wait();
    }
}

/// A running app.
pub struct TrayApp<'a> {
    pub home: &'a Home,
    pub driver: Driver,
    /// Calls with the main token.
    pub main: Caller,
}

impl TrayApp<'_> {
    /// The main window.
    pub async fn window(&self) -> View<'_> {
        let view = self.driver.view("index").await;
        view.has("main").await;
        view
    }

    /// The question, when one is asked.
    pub async fn question(&self) -> View<'_> {
        let view = self.driver.view("consent").await;
        view.has("main.ask").await;
        view
    }

    /// Gives an order as a page gives it.
    pub async fn order(&self, name: &str, arguments: Value) -> Value {
        self.attempt(name, &arguments).await.unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    async fn attempt(&self, name: &str, arguments: &Value) -> Result<Value, String> {
        let view = self.driver.view("index").await;
        let script = format!(
            "const o = window.ordered = {{}}; window.__TAURI__.core.invoke({}, {arguments}).then(v => o.v = [v ?? null], e => o.e = String(e)); return true",
            Value::from(name)
        );
        view.run(&script).await;
        let done = view.until("return window.ordered.e !== undefined || window.ordered.v").await;
        match done.as_array() {
            Some(value) => Ok(value[0].clone()),
            None => Err(view.run("return window.ordered.e").await.as_str().unwrap_or_default().to_owned()),
        }
    }

    /// How things stand, as pages are told.
    pub async fn snapshot(&self) -> Value {
        self.order("snapshot", json!({})).await
    }

    /// Authorises these groups for everybody until it is stopped.
    pub async fn authorise(&self, groups: &[&str]) {
        self.grant(groups, None).await;
    }

    /// Authorises these groups for everybody for so many minutes.
    pub async fn grant(&self, groups: &[&str], minutes: Option<f64>) {
        let wish = json!({ "groups": groups, "minutes": minutes, "callers": null });
        let end = Instant::now() + PATIENCE;
        // Right after an agent's key or click it is not taken for the person's word.
        while let Err(why) = self.attempt("authorize", &wish).await {
            assert!(why.contains("a moment ago") && Instant::now() < end, "{why}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Keeps a picture of a window under this name, once it has drawn what it shows.
    pub async fn keep(&self, view: &View<'_>, name: &str) {
        view.until("return new Promise(done => (setTimeout(() => done(true), 300), requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))").await;
        let title = view.window_title();
        eye::keep(self.home.server.name(), title, &pictures().join(format!("{name}.png")));
    }

    /// Waits until AI control is off, by this way of ending it.
    pub async fn is_off(&self, how: &str) {
        self.becomes("off", how).await;
    }

    /// Waits until the state of AI control is this one.
    #[track_caller]
    pub fn is(&self, state: &str) -> impl Future<Output = ()> + '_ {
        self.becomes(state, "")
    }

    #[track_caller]
    fn becomes(&self, state: &str, how: &str) -> impl Future<Output = ()> + '_ {
        let (state, place) = (state.to_owned(), format!("{how} {}", std::panic::Location::caller()));
        async move {
            let end = Instant::now() + PATIENCE;
            loop {
                let control = self.snapshot().await["control"].clone();
                if control["state"] == state.as_str() {
                    return;
                }
                assert!(Instant::now() < end, "{place}: not {state} but {control}");
                tokio::time::sleep(Duration::from_millis(40)).await;
            }
        }
    }
}

/// Somebody with a token, who calls as any MCP client does.
#[derive(Clone)]
pub struct Caller {
    pub url: String,
    pub token: String,
    client: reqwest::Client,
    ids: std::sync::Arc<AtomicU64>,
}

impl Caller {
    fn new(url: &str, token: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { url: url.to_owned(), token: token.to_owned(), client, ids: std::sync::Arc::default() }
    }

    /// Host and port, as the extension's popup takes them.
    pub fn address(&self) -> String {
        self.url.trim_start_matches("http://").split('/').next().unwrap().to_owned()
    }

    /// Posts one JSON-RPC message and returns the answer.
    pub async fn rpc(&self, method: &str, params: Value) -> Value {
        let id = self.ids.fetch_add(1, Ordering::Relaxed) + 1;
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let request = self.client.post(&self.url).bearer_auth(&self.token).json(&body).send();
        let response = tokio::time::timeout(Duration::from_secs(150), request).await.expect("an answer").unwrap();
        response.json().await.unwrap()
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        Answer::of(tool, &self.rpc("tools/call", json!({ "name": tool, "arguments": arguments })).await)
    }

    /// The names of the tools that are listed.
    pub async fn tools(&self) -> Vec<String> {
        let answer = self.rpc("tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}
