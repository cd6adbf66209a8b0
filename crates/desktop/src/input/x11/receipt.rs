//! Has the focused window handled what was sent to it?
//!
//! Asked before a lent key may change again. A window that takes part in `_NET_WM_PING` (GTK, Qt, Chromium) answers a ping
//! in the order of its input, so the answer is proof. For others (xterm) the server is asked to tell what that client
//! asks for; see [`super::reading`].

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use x11rb::protocol::xproto::{AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, EventMask, Window};

use super::link::Link;
use super::pace::Pace;
use super::reading::{Listener, Outcome};
use crate::cancel::Cancel;
use crate::error::Stop;
use crate::screen::x11::{lost, refused};
use crate::{Error, Result};

/// How long a window may leave a ping unanswered. A window that is busy longer than this is not reading its input.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a window gets that can be asked neither way.
const GRACE: Duration = Duration::from_millis(250);
/// The window that keys go to, and whom to ask about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Focus {
    /// The window with the focus.
    pub(super) window: Window,
    /// The window that answers pings for it.
    pub(super) pinged: Option<Window>,
}

/// Finds the window that keys go to.
pub(super) fn focus(link: &Link) -> Result<Focus> {
    let mut window = link.conn.get_input_focus().map_err(lost)?.reply().map_err(refused)?.focus;
    if window == x11rb::NONE {
        return Err(Error::unavailable(
            "a window to type into",
            "no window has the keyboard focus, so keys would go nowhere",
            "click into the window first",
        ));
    }
    if window == u32::from(x11rb::protocol::xproto::InputFocus::POINTER_ROOT) || window == link.root {
        // Keys follow the pointer: to the deepest window below it.
        window = link.root;
        while let Ok(at) = link.conn.query_pointer(window).map_err(lost)?.reply() {
            if at.child == x11rb::NONE {
                break;
            }
            window = at.child;
        }
    }
    Ok(Focus { window, pinged: pinged(link, window)? })
}

/// The window itself or the nearest one above it that says it answers pings.
fn pinged(link: &Link, mut window: Window) -> Result<Option<Window>> {
    while window != link.root && window != x11rb::NONE {
        let protocols = link.conn.get_property(false, window, link.protocols, AtomEnum::ATOM, 0, 32).map_err(lost)?;
        let tree = link.conn.query_tree(window).map_err(lost)?;
        let (protocols, tree) = (protocols.reply(), tree.reply());
        if protocols.is_ok_and(|p| p.value32().is_some_and(|mut v| v.any(|a| a == link.ping))) {
            return Ok(Some(window));
        }
        let Ok(tree) = tree else { return Ok(None) };
        window = tree.parent;
    }
    Ok(None)
}

/// What is known of the windows after they were asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receipt {
    /// They have handled everything sent to them.
    Handled,
    /// They have had time to, and one gave no sign.
    Likely,
    /// Asking was cut short, or a window does not read its input.
    Stopped(Stop),
}

/// A ping that is not answered yet.
struct Flight {
    token: u32,
    characters: usize,
    sent: Instant,
}

/// Asks windows whether they have handled what was sent to them, each in the way that it understands.
#[derive(Default)]
pub(super) struct Receipts {
    flights: VecDeque<Flight>,
    listeners: Vec<Listener>,
    /// Windows that answer no ping and got keys since they were last asked about.
    silent: Vec<Window>,
    hears_pongs: bool,
    pace: Pace,
    /// When a ping was last answered.
    heard: Option<Instant>,
}

impl Receipts {
    /// Gets ready to ask about a window that answers no ping. Must be called before keys are lent for it.
    pub(super) fn prepare(&mut self, link: &Link, focus: Focus) -> Result<()> {
        if focus.pinged.is_none() && !self.listeners.iter().any(|l| l.window == focus.window) {
            self.listeners.extend(Listener::begin(link, focus.window)?);
        }
        Ok(())
    }

    /// Keys have just been lent: what windows asked for before is of no account.
    pub(super) fn lent(&self) {
        self.listeners.iter().for_each(Listener::forget);
    }

    /// Notes that so many characters were sent to a window, and asks it to tell when it has handled them.
    pub(super) fn sent(&mut self, link: &Link, focus: Focus, characters: usize) -> Result<()> {
        let Some(window) = focus.pinged else {
            if !self.silent.contains(&focus.window) {
                self.silent.push(focus.window);
            }
            return Ok(());
        };
        if !self.hears_pongs {
            hear_pongs(link, true)?;
            self.hears_pongs = true;
        }
        // A number of our own in place of the time stamp, unlike any that a window manager would use.
        let token = 0xD500_0000 | (fresh() & 0x00ff_ffff);
        let message = ClientMessageEvent::new(32, window, link.protocols, [link.ping, token, window, 0, 0]);
        link.conn.send_event(false, window, EventMask::NO_EVENT, message).map_err(lost)?;
        link.flush()?;
        self.flights.push_back(Flight { token, characters, sent: Instant::now() });
        Ok(())
    }

    /// Whether the window would handle so many characters after those under way in this time, as far as it is known.
    pub(super) fn manages(&self, characters: usize, time: Duration) -> bool {
        self.pace.manages(characters + self.flights.iter().map(|f| f.characters).sum::<usize>(), time)
    }

    /// How many characters are to be sent in one go: half of what may be under way, so that the window is never idle.
    pub(super) fn portion(&self, focus: Focus) -> usize {
        // A window that answers no ping cannot be kept pace with.
        if focus.pinged.is_some() { self.pace.limit() / 2 } else { usize::MAX }
    }

    /// Waits until another portion may be under way.
    pub(super) fn pace(&mut self, link: &Link, cancel: &Cancel) -> Result<Option<Stop>> {
        self.wait(link, cancel, |left, pace| left <= pace.limit() / 2)
    }

    /// Waits until all windows have handled everything sent to them.
    pub(super) fn all(&mut self, link: &Link, cancel: &Cancel) -> Result<Receipt> {
        if let Some(why) = self.wait(link, cancel, |left, _| left == 0)? {
            return Ok(Receipt::Stopped(why));
        }
        let mut receipt = Receipt::Handled;
        for window in std::mem::take(&mut self.silent) {
            let listener = self.listeners.iter().find(|l| l.window == window);
            match listener.map_or(Outcome::Unknown, |l| l.wait(cancel)) {
                Outcome::Handled => {}
                Outcome::Stopped(why) => return Ok(Receipt::Stopped(why)),
                Outcome::Unknown => {
                    cancel.pause(GRACE)?;
                    receipt = Receipt::Likely;
                }
            }
        }
        Ok(receipt)
    }

    /// Takes in the answers that have come, and how fast they came.
    fn hear(&mut self, link: &Link) -> Result<()> {
        while link.poll()?.is_some() {}
        let answered = std::mem::take(&mut *link.pongs.lock());
        let (mut characters, mut since) = (0, self.heard);
        self.flights.retain(|f| {
            let open = !answered.contains(&f.token);
            if !open {
                // A window that had nothing to do began when this was sent.
                since = if characters == 0 { since.max(Some(f.sent)) } else { since };
                characters += f.characters;
            }
            open
        });
        if let Some(since) = since.filter(|_| characters > 0) {
            self.pace.handled(characters, since.elapsed());
            self.heard = Some(Instant::now());
        }
        Ok(())
    }

    /// Waits until `enough` of what was sent is handled, told how much is left.
    fn wait(&mut self, link: &Link, cancel: &Cancel, enough: impl Fn(usize, &Pace) -> bool) -> Result<Option<Stop>> {
        let (mut heard, mut before) = (Instant::now(), usize::MAX);
        loop {
            self.hear(link)?;
            let left = self.flights.iter().map(|f| f.characters).sum();
            if enough(left, &self.pace) {
                return Ok(None);
            }
            if left != before {
                (heard, before) = (Instant::now(), left);
            }
            if let Some(why) = cancel.stopped() {
                return Ok(Some(why));
            }
            if heard.elapsed() >= PATIENCE {
                return Ok(Some(Stop::Unread));
            }
            link.wait_readable(Duration::from_millis(10))?;
        }
    }

    /// Stops asking.
    pub(super) fn end(self, link: &Link) -> Result<()> {
        if self.hears_pongs {
            hear_pongs(link, false)?;
            link.flush()?;
        }
        self.listeners.into_iter().try_for_each(|l| l.end(link))
    }
}

/// Answers to pings are sent to the root window, where window managers look for them.
fn hear_pongs(link: &Link, hear: bool) -> Result<()> {
    let mask = if hear { EventMask::SUBSTRUCTURE_NOTIFY } else { EventMask::NO_EVENT };
    link.conn.change_window_attributes(link.root, &ChangeWindowAttributesAux::new().event_mask(mask)).map_err(lost)?;
    Ok(())
}

fn fresh() -> u32 {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
