//! The watcher: a thread with a connection of its own that hears every press and motion on the server.
//!
//! XInput2 raw events come whatever window has the focus and whoever has grabbed what, within a millisecond. From them it
//! tells when somebody takes over, sees the stop key even while we are typing, and lets go of modifiers that were pressed
//! again for a person who has let go since.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags};
use tokio::sync::{broadcast, mpsc};
use x11rb::protocol::Event;
use x11rb::protocol::xinput::{self, ConnectionExt as _, DeviceType, XIEventMask};
use x11rb::protocol::xproto::{self, ConnectionExt as _, GrabMode, ModMask};

use super::account::Account;
use super::devices::{self, Hand as Whose};
use super::keymap::{Keymap, LOCK};
use super::link::Link;
use crate::held::Journal;
use crate::input::key::Key;
use crate::screen::x11::{lost, refused};
use crate::takeover::{Hand, Takeover};
use crate::{Error, Result};

/// The watcher of one server. Dropping it ends its thread.
pub(super) struct Watch {
    shared: Arc<Shared>,
    /// Closed when nobody wants the watcher any more.
    alive: Arc<UnixStream>,
}

struct Shared {
    link: Link,
    /// Holds the grab of the stop key: while a key is grabbed, its connection hears no raw events.
    grabs: Link,
    account: Arc<Account>,
    takeovers: broadcast::Sender<Takeover>,
    stop: Mutex<Option<Stop>>,
}

/// An armed stop key.
struct Stop {
    key: Key,
    /// Modifier bits that must be down.
    mods: u8,
    presses: mpsc::UnboundedSender<Instant>,
    codes: Vec<u8>,
    modmap: [u8; 256],
    number: u64,
}

impl Watch {
    /// Connects and starts to watch.
    pub(super) fn start(link: &Link) -> Result<Self> {
        let account = Arc::clone(&link.account);
        let open = || Link::open(Some(&link.display), Arc::new(Journal::default()));
        let (own, grabs) = (open()?, open()?);
        let mask = XIEventMask::RAW_KEY_PRESS | XIEventMask::RAW_KEY_RELEASE | XIEventMask::RAW_BUTTON_PRESS | XIEventMask::RAW_MOTION;
        let masters = xinput::EventMask { deviceid: xinput::Device::ALL_MASTER.into(), mask: vec![mask] };
        account.watch();
        own.conn.xinput_xi_select_events(own.root, &[masters]).map_err(lost)?.check().map_err(refused)?;
        let fakes = fakes(&own)?;
        let down: BTreeSet<u8> = own.keys_down()?.into_iter().collect();
        let shared = Arc::new(Shared { link: own, grabs, account, takeovers: broadcast::channel(64).0, stop: Mutex::default() });
        let (alive, ended) = UnixStream::pair().map_err(|e| Error::failed("watching the keyboard", e))?;
        let watched = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("watch-input".into())
            .spawn(move || {
                if let Err(e) = (Watcher { shared: &watched, fakes, down, last_ours: None }).run(&ended) {
                    tracing::warn!("watching mouse and keyboard ended: {e}");
                }
                *watched.stop.lock() = None;
            })
            .map_err(|e| Error::failed("watching the keyboard", e))?;
        Ok(Self { shared, alive: Arc::new(alive) })
    }

    /// What somebody else does from now on.
    pub(super) fn takeovers(&self) -> broadcast::Receiver<Takeover> {
        self.shared.takeovers.subscribe()
    }

    /// Arms the stop key: the last of `keys`, with the others down.
    pub(super) fn arm(&self, keys: &[Key], presses: mpsc::UnboundedSender<Instant>) -> Result<Box<dyn Send>> {
        let Some((key, modifiers)) = keys.split_last() else { return Err(Error::Invalid("a stop key needs at least one key".into())) };
        let mods = modifiers.iter().try_fold(0, |bits, key| {
            modifier_bit(*key).map(|bit| bits | bit).ok_or_else(|| {
                Error::Invalid(format!("{key} is no modifier; use Ctrl, Alt, Shift or Super before the last key of a stop key"))
            })
        })?;
        let mut armed = self.shared.stop.lock();
        if armed.is_some() {
            return Err(Error::failed("arming the stop key", "another one is armed already; disarm it first"));
        }
        let mut stop = Stop { key: *key, mods, presses, codes: Vec::new(), modmap: [0; 256], number: fresh() };
        stop.grab(&self.shared.grabs)?;
        let number = stop.number;
        *armed = Some(stop);
        wake(&self.alive);
        Ok(Box::new(Armed { shared: Arc::downgrade(&self.shared), number, alive: Arc::downgrade(&self.alive) }))
    }
}

/// Disarms when dropped.
struct Armed {
    shared: std::sync::Weak<Shared>,
    number: u64,
    alive: std::sync::Weak<UnixStream>,
}

impl Drop for Armed {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let mut stop = shared.stop.lock();
        if stop.as_ref().is_some_and(|s| s.number == self.number) {
            if let Some(stop) = stop.take() {
                stop.ungrab(&shared.grabs);
            }
            drop(shared.grabs.sync());
        }
        if let Some(alive) = self.alive.upgrade() {
            wake(&alive);
        }
    }
}

/// Makes the thread look again: what another thread asks of its connection may have read events meant for it.
fn wake(mut alive: &UnixStream) {
    drop(alive.write(&[0]));
}

impl Stop {
    /// Grabs the key wherever it is on the keymap now, so that no window sees it. Again after each change of the keymap.
    fn grab(&mut self, link: &Link) -> Result<()> {
        let map = Keymap::read(link)?;
        let stroke = match self.key {
            Key::Char(c) => map.stroke(c, 0),
            Key::Named(n) => map.stroke_of(n.keysym, 0),
            Key::Keysym(sym) => map.stroke_of(sym, 0),
        };
        let Some(stroke) = stroke else {
            return Err(Error::unavailable(
                "the stop key",
                format!("this keymap has no key {}", self.key),
                "choose another with --stop-key",
            ));
        };
        self.ungrab(link);
        self.modmap = map.modmap;
        // Locks do not matter: the key is grabbed with each combination of them.
        for locks in [0, LOCK, map.num_lock, LOCK | map.num_lock] {
            let mods = ModMask::from(u16::from(self.mods | locks));
            let grabbed = link.conn.grab_key(false, link.root, mods, stroke.code, GrabMode::ASYNC, GrabMode::ASYNC).map_err(lost)?.check();
            if let Err(e) = grabbed {
                self.codes = vec![stroke.code];
                self.ungrab(link);
                let reason = format!("another program has it already ({:?})", refused(e).to_string());
                return Err(Error::unavailable("the stop key", reason, "end that program, or choose another key with --stop-key"));
            }
        }
        self.codes = vec![stroke.code];
        Ok(())
    }

    fn ungrab(&self, link: &Link) {
        for code in &self.codes {
            drop(link.conn.ungrab_key(*code, link.root, ModMask::ANY));
        }
        drop(link.flush());
    }
}

/// The thread's side.
struct Watcher<'a> {
    shared: &'a Shared,
    /// Devices that fake events come from.
    fakes: Vec<u16>,
    /// The server's time of the last event that was ours.
    last_ours: Option<xproto::Timestamp>,
    /// Keys that others hold down.
    down: BTreeSet<u8>,
}

impl Watcher<'_> {
    fn run(&mut self, mut ended: &UnixStream) -> Result<()> {
        let link = &self.shared.link;
        release_shadows(link, &self.shared.account)?;
        loop {
            while let Some(event) = link.poll()? {
                self.handle(&event)?;
            }
            // What the grab swallows is of no further use.
            self.shared.grabs.keymap_changed()?;
            if link.keymap_changed()?
                && let Some(stop) = self.shared.stop.lock().as_mut()
                && let Err(e) = stop.grab(&self.shared.grabs)
            {
                tracing::warn!("the stop key does not work on the new keymap: {e}");
            }
            let mut fds = [PollFd::new(link.conn.stream(), PollFlags::IN), PollFd::new(&ended, PollFlags::IN)];
            match rustix::event::poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(lost(e)),
            }
            if !fds[1].revents().is_empty() && ended.read(&mut [0; 16]).unwrap_or(0) == 0 {
                return Ok(());
            }
        }
    }

    fn handle(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::XinputRawKeyPress(e) => {
                let code = u8::try_from(e.detail).unwrap_or(0);
                if !self.ours(e.sourceid, xproto::KEY_PRESS_EVENT, code, e.time) && self.down.insert(code) {
                    self.stop_pressed(code);
                    self.report(Hand::Key, e.time);
                }
            }
            Event::XinputRawKeyRelease(e) => {
                let code = u8::try_from(e.detail).unwrap_or(0);
                let fake = self.fakes.contains(&e.sourceid);
                // A key that we lift in order to type is still under the person's finger: the stop key counts on it.
                if !(fake && self.shared.account.strike(xproto::KEY_RELEASE_EVENT, code)) {
                    self.down.remove(&code);
                }
                // The person let go of what was pressed again for them.
                if !fake && self.shared.account.shadows.lock().remove(&code) {
                    self.shared.link.key(code, false)?;
                    self.shared.link.flush()?;
                }
            }
            Event::XinputRawButtonPress(e)
                if !self.ours(e.sourceid, xproto::BUTTON_PRESS_EVENT, u8::try_from(e.detail).unwrap_or(0), e.time) =>
            {
                self.report(Hand::Button, e.time);
            }
            Event::XinputRawMotion(e) if !self.ours(e.sourceid, xproto::MOTION_NOTIFY_EVENT, 0, e.time) => {
                self.report(Hand::Motion, e.time)
            }
            _ => {}
        }
        Ok(())
    }

    fn ours(&mut self, source: u16, kind: u8, code: u8, time: xproto::Timestamp) -> bool {
        let ours = self.fakes.contains(&source) && self.shared.account.strike(kind, code);
        if ours {
            self.last_ours = Some(time);
        }
        ours
    }

    fn report(&self, hand: Hand, time: xproto::Timestamp) {
        // By the server's order and clock: when this process hears of it says nothing on a loaded machine.
        let since_ours = self.last_ours.map(|ours| Duration::from_millis(u64::from(time.wrapping_sub(ours))));
        // Nobody listening is no fault.
        let _ = self.shared.takeovers.send(Takeover { hand, at: Instant::now(), since_ours });
    }

    fn stop_pressed(&self, code: u8) {
        let stop = self.shared.stop.lock();
        let Some(stop) = stop.as_ref() else { return };
        let held = self.down.iter().fold(0, |bits, c| bits | stop.modmap[usize::from(*c)]);
        if stop.codes.contains(&code) && held & stop.mods == stop.mods {
            // Nobody waits for it any more: then it is being disarmed.
            let _ = stop.presses.send(Instant::now());
        }
    }
}

/// Puts up what was pressed again for a person who has let go since.
pub(super) fn release_shadows(link: &Link, account: &Account) -> Result<()> {
    if account.shadows.lock().is_empty() {
        return Ok(());
    }
    let still = devices::down_by(link, Whose::Real)?;
    let mut shadows = account.shadows.lock();
    for code in shadows.iter().filter(|c| !still.contains(c)) {
        link.key(*code, false)?;
    }
    shadows.retain(|c| still.contains(c));
    link.flush()
}

/// Devices that fake events come from: ours, and any other program's.
fn fakes(link: &Link) -> Result<Vec<u16>> {
    let all = link.conn.xinput_xi_query_device(0u16).map_err(lost)?.reply().map_err(refused)?;
    let slaves = all.infos.into_iter().filter(|d| matches!(d.type_, DeviceType::SLAVE_KEYBOARD | DeviceType::SLAVE_POINTER));
    Ok(slaves.filter(|d| d.name.windows(5).any(|w| w == b"XTEST")).map(|d| d.deviceid).collect())
}

/// The modifier bit of a key, by custom: what Ctrl, Alt, Shift and Super are on every keymap in use.
fn modifier_bit(key: Key) -> Option<u8> {
    let Key::Named(named) = key else { return None };
    match named.keysym {
        0xffe1 | 0xffe2 => Some(1),
        0xffe3 | 0xffe4 => Some(4),
        0xffe9 | 0xffea => Some(8),
        0xffeb | 0xffec => Some(64),
        _ => None,
    }
}

fn fresh() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
