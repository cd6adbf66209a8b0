//! Keys, as trusted input to whatever has the focus in a tab.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::keys::Key;
use super::{PATIENCE, Page};
use crate::error::BrowserError;
use crate::tab::{FrameId, Moment, State};

/// How long the news of a key may lag behind the key.
const NEWS: Duration = Duration::from_millis(800);
/// How often a key that did not arrive is pressed.
const TRIES: u32 = 3;

/// Modifier keys held during a key press.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "four keys that are down or not")]
pub struct Modifiers {
    /// Control.
    pub ctrl: bool,
    /// Shift.
    pub shift: bool,
    /// Alt, Option.
    pub alt: bool,
    /// Meta, Command, Windows.
    pub meta: bool,
}

impl Modifiers {
    fn bits(self) -> u8 {
        u8::from(self.alt) | u8::from(self.ctrl) << 1 | u8::from(self.meta) << 2 | u8::from(self.shift) << 3
    }

    fn names(self) -> Vec<(&'static str, u8)> {
        [("Control", self.ctrl, 2), ("Shift", self.shift, 8), ("Alt", self.alt, 1), ("Meta", self.meta, 4)]
            .into_iter()
            .filter(|m| m.1)
            .map(|m| (m.0, m.2))
            .collect()
    }

    fn add(&mut self, name: &str) -> bool {
        match name {
            "Control" => self.ctrl = true,
            "Shift" => self.shift = true,
            "Alt" => self.alt = true,
            "Meta" => self.meta = true,
            _ => return false,
        }
        true
    }
}

/// What a key press did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pressed {
    /// The key that was pressed, with its modifiers, such as `Control+a`.
    pub key: String,
    /// Whether another document came because of it.
    pub navigated: bool,
    /// The tab's address afterwards.
    pub url: String,
}

/// What is to be pressed.
#[derive(Debug, PartialEq)]
enum Stroke {
    Key(Key, Modifiers),
    Text(String),
}

impl Page {
    /// Presses and releases a key: a name (`Enter`, `ArrowDown`, `F5`), one character, or a combination (`Control+a`).
    ///
    /// # Errors
    /// `Argument` for a key that does not exist; as [`click`](Self::click) for the element that is to get the focus first.
    pub async fn press_key(&self, key: &str, modifiers: Modifiers, selector: Option<&str>) -> Result<Pressed, BrowserError> {
        let stroke = parse(key, modifiers)?;
        self.tab.ensure_ready().await?;
        let frame = match selector {
            Some(selector) => self.ask("focus", selector, json!({}), PATIENCE).await?.frame,
            None => self.tab.main(),
        };
        let before = self.tab.look(|s| s.moment.clone());
        let told = match &stroke {
            Stroke::Key(key, modifiers) => {
                self.deliver(key, *modifiers, &frame, &before).await?;
                modifiers.names().iter().map(|m| format!("{}+", m.0)).collect::<String>() + &key.key
            }
            Stroke::Text(text) => {
                self.send("Input.insertText", json!({"text": text})).await?;
                text.clone()
            }
        };
        let navigated = self.settle(&before, &frame).await?;
        Ok(Pressed { key: told, navigated, url: self.tab.url() })
    }

    /// Presses a key and makes sure that the page got it. One that the browser dropped (before a page is drawn) is
    /// pressed again.
    async fn deliver(&self, key: &Key, modifiers: Modifiers, frame: &FrameId, before: &Moment) -> Result<(), BrowserError> {
        for _ in 0..TRIES {
            let token = self.tab.new_token();
            let args = json!({"token": token});
            let asked = self.tab.run::<Value>(frame, "expectKey", &args);
            let ready = match self.in_time("the page does not answer; its own scripts may be busy", asked).await {
                Err(error) if error.is_navigation() => continue,
                ready => ready?,
            };
            self.stroke(key, modifiers).await?;
            if ready["inner"] == true {
                return Ok(());
            }
            let arrived = |s: &mut State| {
                (s.moment.commits != before.commits || s.signals.get(&token).is_some_and(|all| !all.is_empty())).then_some(())
            };
            if self.tab.wait_for(NEWS, arrived).await.is_some() {
                return Ok(());
            }
        }
        Err(BrowserError::Failed(format!("the page did not get the key {}; look at it with browser_screenshot", key.key)))
    }

    /// One key with its modifiers, down and up, in one burst.
    async fn stroke(&self, key: &Key, modifiers: Modifiers) -> Result<(), BrowserError> {
        let mut events = Vec::new();
        let held = modifiers.names();
        let mut bits = 0;
        for (name, bit) in &held {
            bits |= bit;
            events.extend(Key::named(name).map(|k| key_event(&k, "rawKeyDown", bits)));
        }
        events.extend(press_events(key, modifiers));
        for (name, bit) in held.iter().rev() {
            bits &= !bit;
            events.extend(Key::named(name).map(|k| key_event(&k, "keyUp", bits)));
        }
        self.burst(events).await
    }

    /// Sends key events one after the other without waiting in between.
    async fn burst(&self, events: Vec<Value>) -> Result<(), BrowserError> {
        futures_util::future::try_join_all(events.into_iter().map(|e| self.send("Input.dispatchKeyEvent", e))).await.map(drop)
    }

    /// Types characters, each by its key; runs of others as inserted text.
    pub(crate) async fn type_keys(&self, text: &str) -> Result<(), BrowserError> {
        let mut keys = Vec::new();
        let mut foreign = String::new();
        for c in text.chars() {
            match Key::of_char(c) {
                Some(key) => {
                    self.insert(&mut foreign, &mut keys).await?;
                    let shift = Modifiers { shift: key.shift, ..Modifiers::default() };
                    keys.extend(press_events(&key, shift));
                }
                None => {
                    if !keys.is_empty() {
                        self.burst(std::mem::take(&mut keys)).await?;
                    }
                    foreign.push(c);
                }
            }
        }
        self.insert(&mut foreign, &mut keys).await?;
        self.burst(keys).await
    }

    async fn insert(&self, foreign: &mut String, keys: &mut Vec<Value>) -> Result<(), BrowserError> {
        if foreign.is_empty() {
            return Ok(());
        }
        self.burst(std::mem::take(keys)).await?;
        self.send("Input.insertText", json!({"text": std::mem::take(foreign)})).await.map(drop)
    }

    /// Empties the selection of the focused field.
    pub(crate) async fn delete_selection(&self) -> Result<(), BrowserError> {
        match Key::named("Backspace") {
            Some(key) => self.burst(press_events(&key, Modifiers::default())).await,
            None => Ok(()),
        }
    }
}

fn press_events(key: &Key, modifiers: Modifiers) -> Vec<Value> {
    let types = key.text.is_some() && !modifiers.ctrl && !modifiers.meta && !modifiers.alt;
    let mut down = key_event(key, if types { "keyDown" } else { "rawKeyDown" }, modifiers.bits());
    if types {
        down["text"] = key.text.clone().into();
        down["unmodifiedText"] = key.text.clone().into();
    }
    if let Some(command) = mac_command(key, modifiers) {
        down["commands"] = json!([command]);
    }
    vec![down, key_event(key, "keyUp", modifiers.bits())]
}

fn key_event(key: &Key, kind: &str, bits: u8) -> Value {
    json!({"type": kind, "key": key.key, "code": key.code, "windowsVirtualKeyCode": key.number, "nativeVirtualKeyCode": key.number, "modifiers": bits, "isKeypad": key.keypad})
}

/// macOS leaves the editing shortcuts to menus that trusted events do not reach; Chrome takes the command by name.
fn mac_command(key: &Key, modifiers: Modifiers) -> Option<&'static str> {
    if !cfg!(target_os = "macos") || !modifiers.meta {
        return None;
    }
    match key.key.to_ascii_lowercase().as_str() {
        "a" => Some("selectAll"),
        "c" => Some("copy"),
        "x" => Some("cut"),
        "v" => Some("paste"),
        "z" if modifiers.shift => Some("redo"),
        "z" => Some("undo"),
        _ => None,
    }
}

fn parse(text: &str, mut modifiers: Modifiers) -> Result<Stroke, BrowserError> {
    let unknown = || {
        BrowserError::Argument(format!(
            "{text:?} is no key; give a name such as Enter, Tab, Escape, ArrowDown, F5, Space, one character, or a combination such as Control+a"
        ))
    };
    let mut rest = text;
    // A plus sign at the end is the key itself: `+`, `Control++`.
    while let Some((head, tail)) = rest.split_once('+').filter(|(h, t)| !h.is_empty() && !t.is_empty()) {
        let name = Key::named(head.trim()).ok_or_else(unknown)?;
        if !modifiers.add(&name.key) {
            return Err(unknown());
        }
        rest = tail;
    }
    let mut characters = rest.chars();
    let key = match (characters.next(), characters.next()) {
        (None, _) => return Err(unknown()),
        (Some(c), None) => match Key::of_char(c) {
            Some(key) => key,
            None if modifiers == Modifiers::default() => return Ok(Stroke::Text(c.to_string())),
            None => {
                return Err(BrowserError::Argument(format!(
                    "{text:?}: no key types {c:?}, so it cannot be combined with others; use browser_type for text"
                )));
            }
        },
        _ => Key::named(rest.trim()).ok_or_else(unknown)?,
    };
    modifiers.shift |= key.shift;
    let key = if modifiers.shift { shifted(&key) } else { key };
    Ok(Stroke::Key(key, modifiers))
}

/// What the key types while Shift is down.
fn shifted(key: &Key) -> Key {
    let upper = key.text.as_deref().and_then(|t| t.chars().next()).filter(char::is_ascii_lowercase).map(|c| c.to_ascii_uppercase());
    upper.and_then(Key::of_char).unwrap_or_else(|| key.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_characters_and_names_are_read() {
        let ctrl = Modifiers { ctrl: true, ..Modifiers::default() };
        let stroke = |t: &str| match parse(t, Modifiers::default()).unwrap() {
            Stroke::Key(k, m) => (k.key, m),
            Stroke::Text(t) => (t, Modifiers::default()),
        };
        assert_eq!(stroke("Control+a"), ("a".into(), ctrl));
        assert_eq!(stroke("ctrl++"), ("+".into(), Modifiers { shift: true, ..ctrl }));
        assert_eq!(stroke("+").0, "+");
        assert_eq!(stroke("Shift+a").0, "A");
        assert_eq!(stroke("k"), ("k".into(), Modifiers::default()));
        assert_eq!(stroke("中").0, "中");
        for bad in ["", "Bogus", "a+b", "Control+", "ab", "Ctrl+中"] {
            assert!(parse(bad, Modifiers::default()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_shortcut_types_nothing() {
        let down = &press_events(&Key::of_char('a').unwrap(), Modifiers { ctrl: true, ..Modifiers::default() })[0];
        assert!(down["text"].is_null() && down["type"] == "rawKeyDown" && down["modifiers"] == 2);
    }
}
