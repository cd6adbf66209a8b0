//! The display the worker looks at, opened when it is first needed.
//!
//! A worker must start without a display (its file tools need none) and outlive one that restarts, so nothing is opened
//! in advance and a lost connection is made anew at the next call.

use std::sync::Arc;

use parking_lot::Mutex;

#[cfg(target_os = "linux")]
use super::x11::{LOST, X11};
use super::{Area, Capture, Rect, Screen, native};
use crate::windows::Window;
use crate::{Error, Result};

/// A display: pictures of it, its monitors, its windows.
pub struct Display {
    name: Option<String>,
    #[cfg(target_os = "linux")]
    x11: Mutex<Option<Arc<X11>>>,
}

impl std::fmt::Debug for Display {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Display").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Display {
    /// The X11 display of this name (`:1`), or the session's own. Nothing is opened yet.
    #[must_use]
    pub fn new(name: Option<String>) -> Self {
        Self {
            name,
            #[cfg(target_os = "linux")]
            x11: Mutex::default(),
        }
    }

    /// Takes a picture.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a display, or where a session cannot be captured (never a black picture instead);
    /// [`Error::NotFound`] for a monitor or window that is not there; [`Error::Invalid`] for a region off the screen.
    pub fn capture(&self, area: &Area) -> Result<Capture> {
        let rect = match area {
            Area::All => None,
            Area::Region(rect) if rect.width == 0 || rect.height == 0 => {
                return Err(Error::Invalid(format!("the region {rect} is empty; give x,y,width,height with a size of at least 1")));
            }
            Area::Region(rect) => Some(*rect),
            Area::Monitor(wanted) => Some(self.screen()?.monitor(wanted)?.rect),
            Area::Window(wanted) => Some(self.window(wanted)?.rect),
        };
        self.pixels(rect)
    }

    #[cfg(target_os = "linux")]
    fn pixels(&self, rect: Option<Rect>) -> Result<Capture> {
        self.seen(|x11| x11.capture(rect), || native::capture(rect))
    }

    #[cfg(not(target_os = "linux"))]
    fn pixels(&self, rect: Option<Rect>) -> Result<Capture> {
        native::capture(rect)
    }

    /// Size, scale and monitors, as they are now.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a display.
    #[cfg(target_os = "linux")]
    pub fn screen(&self) -> Result<Screen> {
        self.seen(X11::screen, native::screen)
    }

    /// Size, scale and monitors, as they are now.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a display.
    #[cfg(not(target_os = "linux"))]
    pub fn screen(&self) -> Result<Screen> {
        native::screen()
    }

    /// The window that has the keyboard; `None` when none has it.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a display.
    #[cfg(target_os = "linux")]
    pub fn active_window(&self) -> Result<Option<Window>> {
        self.ask(crate::windows::x11::active)
    }

    /// The window that has the keyboard; `None` when none has it.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a display.
    #[cfg(not(target_os = "linux"))]
    pub fn active_window(&self) -> Result<Option<Window>> {
        crate::windows::native::active()
    }

    /// The windows a person sees, the front one first.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a display.
    #[cfg(target_os = "linux")]
    pub fn windows(&self) -> Result<Vec<Window>> {
        self.ask(crate::windows::x11::all)
    }

    /// The windows a person sees, the front one first.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a display.
    #[cfg(not(target_os = "linux"))]
    pub fn windows(&self) -> Result<Vec<Window>> {
        crate::windows::native::all()
    }

    /// The window that is `active`, has this id, or has this in its title (any case; the front one of several).
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none, [`Error::Unavailable`] without a display.
    pub fn window(&self, wanted: &str) -> Result<Window> {
        if wanted == "active" {
            return self.active_window()?.ok_or_else(|| Error::NotFound("no window is active; name one by a part of its title".into()));
        }
        let windows = self.windows()?;
        let folded = wanted.to_lowercase();
        let by_id = wanted.parse::<u64>().ok().and_then(|id| windows.iter().find(|w| w.id == id));
        let by_title = || windows.iter().find(|w| !folded.is_empty() && w.title.to_lowercase().contains(&folded));
        by_id.or_else(by_title).cloned().ok_or_else(|| {
            Error::NotFound(format!(
                "none of the {} windows has {wanted:?} in its title; take a screenshot without `window`",
                windows.len()
            ))
        })
    }
}

#[cfg(target_os = "linux")]
impl Display {
    /// Whether it is the display of the session that the worker was started in, and not one named apart.
    pub(crate) const fn is_own(&self) -> bool {
        self.name.is_none()
    }

    /// Frees the memory of pictures when none has been taken for a while.
    pub(crate) fn trim(&self) {
        let held = self.x11.lock().clone();
        if let Some(x11) = held {
            x11.trim();
        }
    }

    /// Asks the X server, once more over a new connection when the one held open turns out to be lost.
    pub(crate) fn ask<T>(&self, ask: impl Fn(&X11) -> Result<T>) -> Result<T> {
        let held = self.x11.lock().clone();
        if let Some(x11) = held {
            match ask(&x11) {
                Err(Error::Unavailable { what: LOST, .. }) => {}
                answer => return answer,
            }
        }
        let x11 = Arc::new(X11::open(self.name.as_deref())?);
        *self.x11.lock() = Some(Arc::clone(&x11));
        ask(&x11)
    }

    /// Asks whoever can show the screen. The root window inside a Wayland session is black by design, and is never asked.
    fn seen<T>(&self, x11: impl Fn(&X11) -> Result<T>, wayland: impl Fn() -> Result<T>) -> Result<T> {
        let answer = self.ask(|server| if server.is_xwayland { Ok(None) } else { x11(server).map(Some) });
        match answer {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => wayland(),
            Err(Error::Unavailable { what: LOST, .. }) if self.name.is_none() && crate::session::is_wayland() => wayland(),
            Err(e) => Err(e),
        }
    }
}
