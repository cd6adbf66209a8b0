//! The windows, and what moves them: the main one, the question, and the sign that an agent acts. They are made when they
//! are first needed, so that a hidden start loads no page.

use crate::words::words;
use deskhand_app::person::Person;
use deskhand_app::person::snapshot::Snapshot;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tauri::{AppHandle, Emitter, Manager, WebviewUrl, WebviewWindow, WebviewWindowBuilder};

/// The main window.
pub const MAIN: &str = "main";
/// The one question.
pub const QUESTION: &str = "consent";
/// The sign that an agent acts.
pub const SIGN: &str = "pill";

/// A handle: clones are the same shell.
#[derive(Clone)]
pub struct Shell {
    app: AppHandle,
    person: Person,
    quitting: Arc<AtomicBool>,
}

impl Shell {
    /// A shell around `person`.
    pub fn new(app: AppHandle, person: Person) -> Self {
        Self { app, person, quitting: Arc::default() }
    }

    /// Whose it is.
    pub fn person(&self) -> &Person {
        &self.person
    }

    /// The app.
    pub fn app(&self) -> &AppHandle {
        &self.app
    }

    /// Does something on the thread that windows belong to; `None` when the app is ending.
    pub async fn on_main<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (answer, answered) = tokio::sync::oneshot::channel();
        let sent = self.app.run_on_main_thread(move || {
            let _ = answer.send(work());
        });
        sent.ok()?;
        answered.await.ok()
    }

    /// Shows the main window, on this page if one is named.
    pub fn show(&self, page: Option<&'static str>) {
        let shell = self.clone();
        let _ = self.app.run_on_main_thread(move || {
            let Some(window) = shell.window(MAIN) else { return };
            let _ = window.unminimize();
            let _ = window.show();
            let _ = window.set_focus();
            if let Some(page) = page {
                let _ = window.emit("page", page);
            }
        });
    }

    /// Tells the pages how things stand, and shows or hides the question.
    pub fn tell(&self, snapshot: &Snapshot) {
        let _ = self.app.emit("snapshot", snapshot);
        let asked = snapshot.question.is_some();
        let shell = self.clone();
        let _ = self.app.run_on_main_thread(move || shell.ask(asked));
    }

    fn ask(&self, asked: bool) {
        let known = self.app.get_webview_window(QUESTION);
        match (known, asked) {
            (None, false) => {}
            (Some(window), false) => {
                let _ = window.hide();
            }
            (_, true) => {
                let Some(window) = self.window(QUESTION) else { return };
                if !window.is_visible().unwrap_or(false) {
                    // It comes up without the keyboard: what is being typed at this moment must not answer it.
                    let _ = window.show();
                    let _ = window.set_always_on_top(true);
                }
            }
        }
    }

    /// The window of this name, made if need be, not yet shown. On the main thread only.
    pub fn window(&self, name: &'static str) -> Option<WebviewWindow> {
        if let Some(window) = self.app.get_webview_window(name) {
            return Some(window);
        }
        let words = words(self.person.settings().language);
        let page = |file: &str| WebviewUrl::App(file.into());
        let builder = match name {
            MAIN => WebviewWindowBuilder::new(&self.app, name, page("index.html"))
                .title("Deskhand")
                .inner_size(980.0, 720.0)
                .min_inner_size(420.0, 420.0),
            QUESTION => WebviewWindowBuilder::new(&self.app, name, page("consent.html"))
                .title(words.question)
                .inner_size(520.0, 600.0)
                .center()
                .always_on_top(true)
                .focused(false)
                .minimizable(false)
                .closable(false),
            _ => WebviewWindowBuilder::new(&self.app, name, page("pill.html"))
                .title(words.sign)
                .inner_size(crate::sign::SIZE.0, crate::sign::SIZE.1)
                .always_on_top(true)
                .decorations(false)
                .min_inner_size(1.0, 1.0)
                .skip_taskbar(true)
                .focusable(false)
                .focused(false),
        };
        // Nothing is loaded but our own pages, and nothing is opened from them.
        let builder = builder
            .visible(false)
            .on_navigation(|url| matches!(url.scheme(), "tauri" | "about") || url.host_str() == Some("tauri.localhost"));
        match builder.build() {
            Ok(window) => {
                claim(&window, name);
                Some(window)
            }
            Err(error) => {
                tracing::error!(%error, "the window {name} cannot be made");
                None
            }
        }
    }

    /// The person closed the main window. With a tray it is only hidden; without one this ends Deskhand, for a worker that
    /// nobody can see or stop must not stay behind.
    pub fn closed(&self) {
        if self.person.has_tray() {
            if let Some(window) = self.app.get_webview_window(MAIN) {
                let _ = window.hide();
            }
        } else {
            self.quit();
        }
    }

    /// Ends AI control, the worker and the app.
    pub fn quit(&self) {
        if self.quitting.swap(true, Ordering::SeqCst) {
            return;
        }
        let shell = self.clone();
        tauri::async_runtime::spawn(async move {
            shell.person.stop();
            let _ = tokio::time::timeout(std::time::Duration::from_secs(10), shell.person.end()).await;
            shell.app.exit(0);
        });
    }

    /// Whether it is ending.
    pub fn is_quitting(&self) -> bool {
        self.quitting.load(Ordering::SeqCst)
    }
}

/// Tells the desktop engine that this window is ours, so that no agent's click or key reaches it.
#[cfg(target_os = "linux")]
fn claim(window: &WebviewWindow, name: &str) {
    use gtk::prelude::GtkWindowExt;
    if let (QUESTION, Ok(own)) = (name, window.gtk_window()) {
        own.set_focus_on_map(false);
    }
    if let Some(id) = x_number(window) {
        deskhand_app::own_windows::claim(id);
    }
}

#[cfg(not(target_os = "linux"))]
fn claim(_window: &WebviewWindow, _name: &str) {}

/// The number by which the X server knows a window; none on Wayland.
#[cfg(target_os = "linux")]
pub fn x_number(window: &WebviewWindow) -> Option<u32> {
    use gtk::prelude::*;
    let window = window.gtk_window().ok()?;
    window.realize();
    let drawn = window.window()?.downcast::<gdkx11::X11Window>().ok()?;
    u32::try_from(drawn.xid()).ok()
}
