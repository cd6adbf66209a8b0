//! Input on X11, through XTEST and XKB.
//!
//! A back end of our own rather than `enigo`'s, because exact text needs more than "press this key": see [`typing`].

mod account;
mod batch;
mod chord;
mod devices;
mod keymap;
mod link;
pub(crate) mod orphans;
mod pace;
mod pointer;
mod reading;
mod receipt;
mod spare;
mod typing;
mod watch;

use std::sync::Arc;

use tokio::sync::{broadcast, mpsc};

use self::chord::Holding;
use self::link::Link;
use self::watch::Watch;
use super::backend::{Backend, Button, Point, Typed};
use super::key::Key;
use crate::Result;
use crate::cancel::Cancel;
use crate::held::Journal;
use crate::stop_key::StopKey;
use crate::takeover::Takeover;

/// Pointer and keyboard of an X server.
pub(crate) struct X11 {
    link: Link,
    holding: Holding,
    watch: Option<Watch>,
}

impl X11 {
    /// Connects to `display`, or to what DISPLAY names.
    pub(crate) fn open(display: Option<&str>, journal: &Arc<Journal>) -> Result<Self> {
        let link = Link::open(display, Arc::clone(journal))?;
        journal.change(|e| e.display = Some(link.display.clone()));
        Ok(Self { link, holding: Holding::new(), watch: None })
    }
}

impl X11 {
    /// Whether the server only shows the windows of old programs inside a Wayland session.
    pub(crate) fn is_xwayland(&self) -> bool {
        self.link.is_xwayland()
    }

    /// Keys were pressed again for a person who holds them: the watcher must be there when they let go.
    fn mind_shadows(&mut self) {
        let needed = !self.link.account.shadows.lock().is_empty();
        if needed && let Err(e) = self.watch() {
            tracing::warn!("a key that the person holds may stay down: {e}");
        }
    }

    fn watch(&mut self) -> Result<&Watch> {
        let watch = match self.watch.take() {
            Some(watch) => watch,
            None => Watch::start(&self.link)?,
        };
        Ok(self.watch.insert(watch))
    }
}

impl Backend for X11 {
    fn size(&mut self) -> Result<(u32, u32)> {
        pointer::size(&self.link)
    }

    fn pointer(&mut self) -> Result<Point> {
        pointer::place(&self.link)
    }

    fn refuses(&mut self, at: Point) -> Result<()> {
        let place = (i16::try_from(at.x).unwrap_or(i16::MAX), i16::try_from(at.y).unwrap_or(i16::MAX));
        let own = crate::own::any() && crate::own::under(&self.link.conn, self.link.root, place)?;
        if own { Err(crate::Error::OwnWindow) } else { Ok(()) }
    }

    fn move_to(&mut self, to: Point) -> Result<()> {
        pointer::move_to(&self.link, to)
    }

    fn button(&mut self, button: Button, down: bool) -> Result<()> {
        pointer::button(&self.link, button, down)
    }

    fn click(&mut self, at: Point, button: Button, times: u8) -> Result<()> {
        pointer::move_to(&self.link, at)?;
        pointer::click(&self.link, button, times)
    }

    fn scroll(&mut self, right: i32, down: i32) -> Result<()> {
        pointer::scroll(&self.link, right, down)
    }

    fn type_text(&mut self, text: &str, cancel: &Cancel) -> Result<Typed> {
        let typed = typing::type_text(&self.link, text, cancel);
        self.mind_shadows();
        typed
    }

    fn press(&mut self, keys: &[Key], cancel: &Cancel) -> Result<()> {
        let pressed = chord::press(&self.link, keys, &self.holding, cancel);
        self.mind_shadows();
        pressed
    }

    fn key_down(&mut self, key: Key, announce: &dyn Fn(&[u8])) -> Result<Vec<u8>> {
        let codes = chord::hold(&self.link, key, &self.holding, announce)?;
        self.holding.push((key, codes.clone()));
        Ok(codes)
    }

    fn key_up(&mut self, key: Key) -> Result<()> {
        let Some(i) = self.holding.iter().position(|(k, _)| *k == key) else { return Ok(()) };
        let (_, codes) = self.holding.remove(i);
        chord::let_go(&self.link, &codes)
    }

    fn takeovers(&mut self) -> Result<broadcast::Receiver<Takeover>> {
        Ok(self.watch()?.takeovers())
    }

    fn stop_key(&mut self, keys: &[Key]) -> Result<StopKey> {
        let (presses, heard) = mpsc::unbounded_channel();
        let armed = self.watch()?.arm(keys, presses)?;
        Ok(StopKey::new(heard, armed))
    }

    fn settle(&mut self) -> Result<()> {
        self.link.sync()
    }
}
