//! The clipboard of an X server: asking its owner, and being its owner.
//!
//! One connection for both. A thread reads its events: it answers others, and hands over what comes for us. Asking and
//! owning happen on the caller's thread, which only sends and waits.

mod incoming;
mod serving;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{self, AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, PropMode, Window, WindowClass};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use super::Content;
use crate::screen::x11::{X11, lost, refused};
use crate::{Error, Result};

x11rb::atom_manager! {
    /// Names of the selection protocol.
    Atoms: AtomsCookie {
        CLIPBOARD,
        CLIPBOARD_MANAGER,
        SAVE_TARGETS,
        TARGETS,
        MULTIPLE,
        TIMESTAMP,
        ATOM_PAIR,
        INCR,
        UTF8_STRING,
        DESKHAND,
        DESKHAND_TIME,
    }
}

/// How long an owner may be silent before it counts as dead.
const SILENCE: Duration = Duration::from_secs(2);
/// How long a clipboard manager may take to take over from us at the end.
const HANDOVER: Duration = Duration::from_millis(500);
/// More than this is not kept.
const MOST: usize = 256 << 20;

/// What the thread and the callers share.
#[derive(Default)]
struct Shared {
    /// What we answer with, and since when (server time). Empty: we own nothing.
    owned: Option<(Arc<Content>, u32)>,
    /// The server's time as it was last told to us.
    time: Option<u32>,
    /// Answers to our question, oldest first.
    incoming: incoming::Incoming,
}

/// Our part in the clipboard of one display.
pub(super) struct Owner {
    conn: Arc<RustConnection>,
    window: Window,
    atoms: Atoms,
    shared: Arc<Mutex<Shared>>,
    told: Arc<Condvar>,
    alive: Arc<AtomicBool>,
    /// One question at a time.
    asking: Mutex<()>,
}

impl Owner {
    pub(super) fn open(name: Option<&str>) -> Result<Self> {
        // A connection of its own: its events are nobody else's, and it lives as long as somebody may ask us.
        let x11 = X11::open(name)?;
        let (conn, root) = (Arc::clone(&x11.conn), x11.root);
        let atoms = Atoms::new(&*conn).map_err(lost)?.reply().map_err(refused)?;
        let window = conn.generate_id().map_err(lost)?;
        let aux = CreateWindowAux::new().override_redirect(1).event_mask(EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY);
        let made = conn.create_window(0, window, root, -1, -1, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &aux);
        made.map_err(lost)?.check().map_err(refused)?;
        let owner = Self {
            conn,
            window,
            atoms,
            shared: Arc::default(),
            told: Arc::default(),
            alive: Arc::new(AtomicBool::new(true)),
            asking: Mutex::default(),
        };
        let thread =
            Reader { conn: Arc::clone(&owner.conn), window, atoms, shared: Arc::clone(&owner.shared), told: Arc::clone(&owner.told) };
        let alive = Arc::clone(&owner.alive);
        let run = move || {
            thread.run();
            alive.store(false, Ordering::Release);
        };
        std::thread::Builder::new().name("clipboard".into()).spawn(run).map_err(|e| Error::failed("opening the clipboard", e))?;
        Ok(owner)
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    pub(super) fn text(&self) -> Result<Option<String>> {
        if let Some((content, _)) = &self.shared.lock().owned {
            return Ok(content.get("UTF8_STRING").map(|b| String::from_utf8_lossy(b).into_owned()));
        }
        if self.nobody_owns()? {
            return Ok(None);
        }
        if let Some(bytes) = self.ask(self.atoms.UTF8_STRING)? {
            return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
        }
        let latin = self.ask(AtomEnum::STRING.into())?;
        Ok(latin.map(|b| b.into_iter().map(char::from).collect()))
    }

    /// Everything that is on it. When it is ours already, that is what we have.
    pub(super) fn save(&self) -> Result<Arc<Content>> {
        if let Some((content, _)) = &self.shared.lock().owned {
            return Ok(Arc::clone(content));
        }
        if self.nobody_owns()? {
            return Ok(Arc::default());
        }
        let Some(listed) = self.ask(self.atoms.TARGETS)? else {
            // An owner from before TARGETS was agreed on has text.
            let text = self.text()?.unwrap_or_default();
            return Ok(Arc::new([("UTF8_STRING".to_owned(), text.into_bytes())].into()));
        };
        let mut content = Content::new();
        let mut size = 0;
        for target in listed.as_chunks::<4>().0.iter().map(|a| u32::from_ne_bytes(*a)) {
            let name = self.name(target)?;
            if is_question(&name) {
                continue;
            }
            // A form that its owner lists and then refuses to give was not to be had before either.
            if let Some(bytes) = self.ask(target)? {
                size += bytes.len();
                if size > MOST {
                    return Err(Error::failed("keeping what is on the clipboard", format!("it is more than {} MB", MOST >> 20)));
                }
                content.insert(name, bytes);
            }
        }
        Ok(Arc::new(content))
    }

    /// Becomes the owner of `content`.
    pub(super) fn own(&self, content: Arc<Content>) -> Result<()> {
        let time = self.server_time()?;
        self.shared.lock().owned = Some((content, time));
        self.conn.set_selection_owner(self.window, self.atoms.CLIPBOARD, time).map_err(lost)?;
        let owner = self.conn.get_selection_owner(self.atoms.CLIPBOARD).map_err(lost)?.reply().map_err(refused)?.owner;
        if owner == self.window {
            return Ok(());
        }
        self.shared.lock().owned = None;
        Err(Error::failed("setting the clipboard", "another program took it at the same moment"))
    }

    pub(super) fn put_back(&self, saved: &Arc<Content>) -> Result<bool> {
        let owner = self.conn.get_selection_owner(self.atoms.CLIPBOARD).map_err(lost)?.reply().map_err(refused)?.owner;
        if owner != self.window {
            return Ok(false);
        }
        if saved.is_empty() {
            let Some((_, time)) = self.shared.lock().owned.take() else { return Ok(false) };
            self.conn.set_selection_owner(x11rb::NONE, self.atoms.CLIPBOARD, time).map_err(lost)?.check().map_err(refused)?;
            return Ok(true);
        }
        self.own(Arc::clone(saved)).map(|()| true)
    }

    fn nobody_owns(&self) -> Result<bool> {
        Ok(self.conn.get_selection_owner(self.atoms.CLIPBOARD).map_err(lost)?.reply().map_err(refused)?.owner == x11rb::NONE)
    }

    fn name(&self, atom: xproto::Atom) -> Result<String> {
        let reply = self.conn.get_atom_name(atom).map_err(lost)?.reply();
        Ok(reply.map(|r| String::from_utf8_lossy(&r.name).into_owned()).unwrap_or_default())
    }

    /// Asks the owner for one form; `None` when it has none.
    fn ask(&self, target: xproto::Atom) -> Result<Option<Vec<u8>>> {
        let _one = self.asking.lock();
        let time = self.server_time()?;
        let mut shared = self.shared.lock();
        shared.incoming = incoming::Incoming::Waiting;
        let question = self.conn.convert_selection(self.window, self.atoms.CLIPBOARD, target, self.atoms.DESKHAND, time);
        question.map_err(lost)?;
        self.conn.flush().map_err(lost)?;
        let mut last = shared.incoming.progress();
        loop {
            let silent = self.told.wait_until(&mut shared, Instant::now() + SILENCE).timed_out();
            if let Some(answer) = shared.incoming.finished(MOST) {
                return answer;
            }
            let progress = shared.incoming.progress();
            if silent && progress == last {
                shared.incoming = incoming::Incoming::Idle;
                return Err(Error::failed("reading the clipboard", format!("its owner does not answer within {} s", SILENCE.as_secs())));
            }
            last = progress;
        }
    }

    /// The server's clock, which decides who owns a selection: told with the change of a property of ours.
    fn server_time(&self) -> Result<u32> {
        let mut shared = self.shared.lock();
        shared.time = None;
        let changed = self.conn.change_property8(PropMode::APPEND, self.window, self.atoms.DESKHAND_TIME, AtomEnum::STRING, &[]);
        changed.map_err(lost)?;
        self.conn.flush().map_err(lost)?;
        let end = Instant::now() + SILENCE;
        loop {
            if let Some(time) = shared.time {
                return Ok(time);
            }
            if self.told.wait_until(&mut shared, end).timed_out() {
                return Err(lost("it does not tell its time"));
            }
        }
    }

    /// At the end a clipboard manager may keep what we hold.
    fn hand_over(&self) -> Result<()> {
        if self.shared.lock().owned.is_none() {
            return Ok(());
        }
        let manager = self.conn.get_selection_owner(self.atoms.CLIPBOARD_MANAGER).map_err(lost)?.reply().map_err(refused)?.owner;
        if manager == x11rb::NONE {
            return Ok(());
        }
        let mut shared = self.shared.lock();
        shared.incoming = incoming::Incoming::Waiting;
        let (manager, save) = (self.atoms.CLIPBOARD_MANAGER, self.atoms.SAVE_TARGETS);
        self.conn.convert_selection(self.window, manager, save, self.atoms.DESKHAND, x11rb::CURRENT_TIME).map_err(lost)?;
        self.conn.flush().map_err(lost)?;
        let end = Instant::now() + HANDOVER;
        while shared.incoming.finished(MOST).is_none() {
            if self.told.wait_until(&mut shared, end).timed_out() {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if self.is_alive() {
            let _ = self.hand_over();
            // The thread sees its window go and ends.
            let _ = self.conn.destroy_window(self.window);
            let _ = self.conn.flush();
        }
    }
}

/// Targets that ask about the selection or have an effect, instead of being a form of it.
fn is_question(target: &str) -> bool {
    const QUESTIONS: [&str; 7] = ["TARGETS", "TIMESTAMP", "MULTIPLE", "SAVE_TARGETS", "DELETE", "INSERT_PROPERTY", "INSERT_SELECTION"];
    QUESTIONS.contains(&target) || target.is_empty()
}

/// The thread that reads our events.
struct Reader {
    conn: Arc<RustConnection>,
    window: Window,
    atoms: Atoms,
    shared: Arc<Mutex<Shared>>,
    told: Arc<Condvar>,
}

impl Reader {
    fn run(self) {
        let mut serving = serving::Serving::new(&self.conn, self.window, self.atoms);
        while let Ok(event) = self.conn.wait_for_event() {
            // One asker that vanished must not end the clipboard of the others.
            let outcome = match event {
                Event::DestroyNotify(e) if e.window == self.window => return,
                Event::SelectionRequest(e) => {
                    let owned = self.shared.lock().owned.clone();
                    serving.answer(&e, owned.as_ref())
                }
                Event::SelectionClear(e) if e.selection == self.atoms.CLIPBOARD => {
                    self.cleared(e.time);
                    Ok(())
                }
                Event::SelectionNotify(e) => self.notified(&e),
                Event::PropertyNotify(e) if e.window == self.window => self.changed(&e),
                Event::PropertyNotify(e) => serving.go_on(&e),
                _ => Ok(()),
            };
            if let Err(error) = outcome {
                tracing::debug!(%error, "clipboard");
            }
            self.told.notify_all();
        }
        self.told.notify_all();
    }

    /// Somebody else owns it now. An old notice may come after we took it again.
    fn cleared(&self, time: u32) {
        let mut shared = self.shared.lock();
        if shared.owned.as_ref().is_some_and(|(_, since)| time.wrapping_sub(*since) < u32::MAX / 2) {
            shared.owned = None;
        }
    }

    fn notified(&self, event: &xproto::SelectionNotifyEvent) -> Result<()> {
        let bytes = if event.property == x11rb::NONE { None } else { Some(self.taken(event.property)?) };
        let mut shared = self.shared.lock();
        shared.incoming.begin(bytes, self.atoms.INCR);
        Ok(())
    }

    fn changed(&self, event: &xproto::PropertyNotifyEvent) -> Result<()> {
        if event.atom == self.atoms.DESKHAND_TIME {
            self.shared.lock().time = Some(event.time);
        } else if event.atom == self.atoms.DESKHAND
            && event.state == xproto::Property::NEW_VALUE
            && self.shared.lock().incoming.is_growing()
        {
            let (_, part) = self.taken(event.atom)?;
            self.shared.lock().incoming.add(&part, MOST);
        }
        Ok(())
    }

    /// Reads a property of ours and deletes it, which asks for the next part.
    fn taken(&self, property: xproto::Atom) -> Result<(xproto::Atom, Vec<u8>)> {
        let reply = self.conn.get_property(true, self.window, property, AtomEnum::ANY, 0, u32::MAX / 4).map_err(lost)?;
        let reply = reply.reply().map_err(refused)?;
        Ok((reply.type_, reply.value))
    }
}
