//! Being the owner: answering programs that ask for what we hold.

use std::collections::HashMap;
use std::sync::Arc;

use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::xproto::{
    self, Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, EventMask, PropMode, PropertyNotifyEvent, SELECTION_NOTIFY_EVENT,
    SelectionNotifyEvent, SelectionRequestEvent, Window,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use super::super::Content;
use super::Atoms;
use crate::Result;
use crate::screen::x11::{lost, refused};

/// What we hold and since when.
type Owned = (Arc<Content>, u32);

/// An answer that goes out part after part.
struct Outgoing {
    content: Arc<Content>,
    form: String,
    kind: Atom,
    sent: usize,
}

/// Answers on one connection.
pub(super) struct Serving<'a> {
    conn: &'a RustConnection,
    window: Window,
    atoms: Atoms,
    /// Bytes that one property change may carry.
    part: usize,
    outgoing: HashMap<(Window, Atom), Outgoing>,
}

impl<'a> Serving<'a> {
    pub(super) fn new(conn: &'a RustConnection, window: Window, atoms: Atoms) -> Self {
        // What every server takes at once, and never more than a quarter of a megabyte: the asker has to fetch it too.
        let part = (conn.maximum_request_bytes().saturating_sub(64)).clamp(1024, 256 << 10);
        Self { conn, window, atoms, part, outgoing: HashMap::new() }
    }

    /// Answers one question.
    pub(super) fn answer(&mut self, asked: &SelectionRequestEvent, owned: Option<&Owned>) -> Result<()> {
        // An old program gives no property and means the target's own name.
        let property = if asked.property == x11rb::NONE { asked.target } else { asked.property };
        let fresh = owned.filter(|(_, since)| asked.time == x11rb::CURRENT_TIME || asked.time.wrapping_sub(*since) < u32::MAX / 2);
        let given = match fresh.filter(|_| asked.selection == self.atoms.CLIPBOARD) {
            Some(owned) if asked.target == self.atoms.MULTIPLE => self.several(asked.requestor, property, owned)?,
            Some(owned) => self.give(asked.requestor, property, asked.target, owned)?,
            None => false,
        };
        let notice = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: asked.time,
            requestor: asked.requestor,
            selection: asked.selection,
            target: asked.target,
            property: if given { property } else { x11rb::NONE },
        };
        self.conn.send_event(false, asked.requestor, EventMask::NO_EVENT, notice).map_err(lost)?;
        self.conn.flush().map_err(lost)
    }

    /// Several questions at once, as pairs of target and property; those that have no answer are marked.
    fn several(&mut self, requestor: Window, property: Atom, owned: &Owned) -> Result<bool> {
        let listed =
            self.conn.get_property(false, requestor, property, AtomEnum::ANY, 0, 1 << 10).map_err(lost)?.reply().map_err(refused)?;
        let mut pairs: Vec<u32> = listed.value32().map(Iterator::collect).unwrap_or_default();
        for pair in pairs.as_chunks_mut::<2>().0 {
            let [target, into] = *pair;
            if target == self.atoms.MULTIPLE || !self.give(requestor, into, target, owned)? {
                pair[1] = x11rb::NONE;
            }
        }
        let changed = self.conn.change_property32(PropMode::REPLACE, requestor, property, self.atoms.ATOM_PAIR, &pairs);
        changed.map_err(lost)?;
        Ok(!pairs.is_empty())
    }

    /// Writes one form into the asker's property; whether we have it.
    fn give(&mut self, requestor: Window, property: Atom, target: Atom, (content, since): &Owned) -> Result<bool> {
        if target == self.atoms.TARGETS {
            let mut targets = vec![self.atoms.TARGETS, self.atoms.MULTIPLE, self.atoms.TIMESTAMP];
            for form in content.keys() {
                targets.push(self.conn.intern_atom(false, form.as_bytes()).map_err(lost)?.reply().map_err(refused)?.atom);
            }
            self.conn.change_property32(PropMode::REPLACE, requestor, property, AtomEnum::ATOM, &targets).map_err(lost)?;
            return Ok(true);
        }
        if target == self.atoms.TIMESTAMP {
            self.conn.change_property32(PropMode::REPLACE, requestor, property, AtomEnum::INTEGER, &[*since]).map_err(lost)?;
            return Ok(true);
        }
        let name = self.conn.get_atom_name(target).map_err(lost)?.reply().map_err(refused)?.name;
        let form = String::from_utf8_lossy(&name).into_owned();
        // TEXT asks for any encoding; the answer's type says which.
        let (form, kind) = if form == "TEXT" { ("UTF8_STRING".to_owned(), self.atoms.UTF8_STRING) } else { (form, target) };
        let Some(bytes) = content.get(&form) else { return Ok(false) };
        if bytes.len() <= self.part {
            self.conn.change_property8(PropMode::REPLACE, requestor, property, kind, bytes).map_err(lost)?;
            return Ok(true);
        }
        self.begin(requestor, property, Outgoing { content: Arc::clone(content), form, kind, sent: 0 }, bytes.len())?;
        Ok(true)
    }

    /// Announces that parts will come; the asker asks for each by deleting the one before.
    fn begin(&mut self, requestor: Window, property: Atom, outgoing: Outgoing, len: usize) -> Result<()> {
        if requestor != self.window {
            let listening = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY);
            self.conn.change_window_attributes(requestor, &listening).map_err(lost)?;
        }
        let least = [u32::try_from(len).unwrap_or(u32::MAX)];
        self.conn.change_property32(PropMode::REPLACE, requestor, property, self.atoms.INCR, &least).map_err(lost)?;
        // Askers that vanished midway leave theirs behind; there are never many.
        if self.outgoing.len() > 64 {
            self.outgoing.clear();
        }
        self.outgoing.insert((requestor, property), outgoing);
        Ok(())
    }

    /// The asker has taken a part: the next one, or an empty one at the end.
    pub(super) fn go_on(&mut self, event: &PropertyNotifyEvent) -> Result<()> {
        let key = (event.window, event.atom);
        if event.state != xproto::Property::DELETE {
            return Ok(());
        }
        let Some(outgoing) = self.outgoing.get_mut(&key) else { return Ok(()) };
        let bytes = outgoing.content.get(&outgoing.form).map(Vec::as_slice).unwrap_or_default();
        let part = bytes.get(outgoing.sent..).unwrap_or_default();
        let part = &part[..part.len().min(self.part)];
        outgoing.sent += part.len();
        let sent = self.conn.change_property8(PropMode::REPLACE, key.0, key.1, outgoing.kind, part);
        sent.map_err(lost)?;
        if part.is_empty() {
            self.outgoing.remove(&key);
        }
        self.conn.flush().map_err(lost)
    }
}
