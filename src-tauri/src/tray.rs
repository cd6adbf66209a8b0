//! The icon in the tray and its menu.

use crate::look::{Entry, State, entries, icon};
use crate::shell::Shell;
use crate::words::{Words, words};
use deskhand_app::person::snapshot::Snapshot;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tauri::image::Image;
use tauri::menu::{Menu, MenuItem, PredefinedMenuItem, Submenu};
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tauri::{AppHandle, Wry};

/// Pixels of the icon's side; panels make it smaller.
const SIZE: u32 = 64;

/// The icon, its entries, and what they show now.
pub struct Tray {
    icon: TrayIcon,
    items: Vec<Item>,
    submenu: Submenu<Wry>,
    shown: Option<(State, [Entry; 8])>,
}

struct Item {
    id: &'static str,
    item: MenuItem<Wry>,
}

fn picture(state: State) -> Image<'static> {
    Image::new_owned(icon(state, SIZE), SIZE, SIZE)
}

impl Tray {
    /// Puts it into the tray. On the main thread only. `None` where the system has no library for it.
    pub fn new(shell: &Shell, snapshot: &Snapshot) -> Option<Self> {
        // The library that draws it is loaded here, and where it is missing the loader panics.
        let made = catch_unwind(AssertUnwindSafe(|| Self::build(shell, snapshot)));
        match made {
            Ok(Ok(tray)) => Some(tray),
            Ok(Err(error)) => {
                tracing::warn!(%error, "no tray icon");
                None
            }
            Err(_) => {
                tracing::warn!("no tray icon: libayatana-appindicator3 is missing");
                None
            }
        }
    }

    fn build(shell: &Shell, snapshot: &Snapshot) -> tauri::Result<Self> {
        let app = shell.app();
        let words = words(shell.person().settings().language);
        let entries = entries(snapshot, words);
        let (menu, submenu, items) = menu(app, &entries)?;
        let state = State::of(snapshot);
        let choosing = shell.clone();
        let icon = TrayIconBuilder::with_id("deskhand")
            .icon(picture(state))
            .tooltip(state.title(words))
            .menu(&menu)
            .show_menu_on_left_click(true)
            .on_menu_event(move |_, event| chosen(&choosing, event.id().as_ref()))
            .build(app)?;
        Ok(Self { icon, items, submenu, shown: Some((state, entries)) })
    }

    /// Shows how things stand. On the main thread only.
    pub fn update(&mut self, snapshot: &Snapshot, words: &Words) {
        let now = (State::of(snapshot), entries(snapshot, words));
        if self.shown.as_ref() == Some(&now) {
            return;
        }
        let (state, entries) = &now;
        if self.shown.as_ref().map(|(shown, _)| shown) != Some(state) {
            let _ = self.icon.set_icon(Some(picture(*state)));
        }
        let _ = self.icon.set_tooltip(Some(state.title(words)));
        for entry in entries {
            if entry.id == "authorize" {
                let _ = self.submenu.set_text(entry.text);
                let _ = self.submenu.set_enabled(entry.enabled);
            }
            if let Some(known) = self.items.iter().find(|item| item.id == entry.id) {
                let _ = known.item.set_text(entry.text);
                let _ = known.item.set_enabled(entry.enabled);
            }
        }
        self.shown = Some(now);
    }
}

fn menu(app: &AppHandle, entries: &[Entry; 8]) -> tauri::Result<(Menu<Wry>, Submenu<Wry>, Vec<Item>)> {
    let item = |entry: &Entry| {
        let item = MenuItem::with_id(app, entry.id, entry.text, entry.enabled, None::<&str>)?;
        Ok::<_, tauri::Error>(Item { id: entry.id, item })
    };
    let submenu = Submenu::with_id(app, entries[0].id, entries[0].text, entries[0].enabled)?;
    let mut items = Vec::new();
    for entry in &entries[1..4] {
        let made = item(entry)?;
        submenu.append(&made.item)?;
        items.push(made);
    }
    let menu = Menu::new(app)?;
    menu.append(&submenu)?;
    for (i, entry) in entries[4..].iter().enumerate() {
        if i == 2 {
            menu.append(&PredefinedMenuItem::separator(app)?)?;
        }
        let made = item(entry)?;
        menu.append(&made.item)?;
        items.push(made);
    }
    Ok((menu, submenu, items))
}

/// What the person chose.
fn chosen(shell: &Shell, id: &str) {
    let person = shell.person();
    let done = match id {
        "authorize-15" => person.authorize_all(Some(15)),
        "authorize-60" => person.authorize_all(Some(60)),
        "authorize-lasting" => person.authorize_all(None),
        "pause" if person.snapshot().control.state == "paused" => person.resume(),
        "pause" => {
            person.pause();
            Ok(())
        }
        "stop" => {
            person.stop();
            Ok(())
        }
        "open" => {
            shell.show(None);
            Ok(())
        }
        "quit" => {
            shell.quit();
            Ok(())
        }
        _ => Ok(()),
    };
    if let Err(why) = done {
        crate::dialogs::tell(shell, why);
    }
}
