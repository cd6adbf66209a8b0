//! Has a window that answers no ping, such as xterm, handled its keys?
//!
//! The server (RECORD) tells which requests its client makes. A client looks keys up in a copy of the keymap that it renews
//! after a change, so it must be seen reading the keymap; and it draws what it is given, so it must then have fallen silent.
//! How long a silence counts is measured by the client's own pace.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::record::{self, ConnectionExt as _, ExtRange, Range, Range8, Range16};
use x11rb::protocol::xkb;
use x11rb::protocol::xproto::Window;
use x11rb::rust_connection::RustConnection;

use super::link::Link;
use crate::cancel::Cancel;
use crate::error::Stop;
use crate::screen::x11::{lost, refused};
use crate::{Error, Result};

/// Requests that read the keymap: the core one, and the one of the keyboard extension by its minor number.
const GET_KEYBOARD_MAPPING: u8 = 101;
const GET_MAP: u8 = 8;
/// How long a client gets to read the keymap. One that has not by then may well never do so.
const PATIENCE: Duration = Duration::from_secs(3);
/// The shortest silence that counts, and how many times the longest pause between two requests it must be.
const SILENCE: Duration = Duration::from_millis(60);
const PACE: u32 = 3;
/// Longest pause that is taken for the client's pace rather than for its rest.
const LONGEST_PACE: Duration = Duration::from_millis(700);
/// Categories of what is recorded.
const FROM_CLIENT: u8 = 1;
const START_OF_DATA: u8 = 4;

/// What a client asked the server for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Keymap,
    Other,
}

/// Listens to the requests of one client. Must begin before the keymap changes.
pub(super) struct Listener {
    pub(super) window: Window,
    context: record::Context,
    heard: Receiver<Heard>,
}

/// What became of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The window has handled everything.
    Handled,
    /// It has given no sign that it has.
    Unknown,
    /// The call was ended first.
    Stopped(Stop),
}

impl Listener {
    /// Begins to listen; `None` when the server cannot record.
    pub(super) fn begin(link: &Link, window: Window) -> Result<Option<Self>> {
        if link.conn.extension_information(record::X11_EXTENSION_NAME).map_err(lost)?.is_none() {
            return Ok(None);
        }
        let keyboard = link.conn.extension_information(xkb::X11_EXTENSION_NAME).map_err(lost)?.map_or(0, |e| e.major_opcode);
        let range = Range {
            core_requests: Range8 { first: 1, last: 127 },
            ext_requests: ExtRange { major: Range8 { first: 128, last: 255 }, minor: Range16 { first: 0, last: u16::MAX } },
            ..Range::default()
        };
        let context = link.conn.generate_id().map_err(|e| Error::failed("listening to a window", e))?;
        link.conn.record_create_context(context, 0, &[window], &[range]).map_err(lost)?.check().map_err(refused)?;
        let (other, _) = RustConnection::connect(Some(&link.display)).map_err(lost)?;
        let (tell, heard) = channel();
        let (ready, started) = channel();
        let run = move || {
            let Ok(replies) = record::enable_context(&other, context) else { return };
            for reply in replies {
                let Ok(reply) = reply else { return };
                let told = match reply.category {
                    START_OF_DATA => ready.send(()).is_ok(),
                    FROM_CLIENT => tell.send(kind(&reply.data, keyboard)).is_ok(),
                    _ => true,
                };
                if !told {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("window-reading".into());
        thread.spawn(run).map_err(|e| Error::failed("listening to a window", e))?;
        // Not begun in time: then nothing is heard, and the outcome is unknown.
        let _ = started.recv_timeout(Duration::from_secs(1));
        Ok(Some(Self { window, context, heard }))
    }

    /// Forgets what was heard so far: call it when the keymap has just changed.
    pub(super) fn forget(&self) {
        while self.heard.try_recv().is_ok() {}
    }

    /// Waits until the client has read the keymap and fallen silent.
    pub(super) fn wait(&self, cancel: &Cancel) -> Outcome {
        let began = Instant::now();
        let (mut read, mut last, mut pace) = (false, began, Duration::ZERO);
        loop {
            match self.heard.recv_timeout(Duration::from_millis(5)) {
                Ok(what) => {
                    let pause = last.elapsed();
                    if read && pause <= LONGEST_PACE {
                        pace = pace.max(pause);
                    }
                    read |= what == Heard::Keymap;
                    last = Instant::now();
                }
                Err(RecvTimeoutError::Disconnected) => return Outcome::Unknown,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(why) = cancel.stopped() {
                return Outcome::Stopped(why);
            }
            if read && last.elapsed() >= SILENCE.max(pace * PACE) {
                return Outcome::Handled;
            }
            if !read && began.elapsed() >= PATIENCE {
                return Outcome::Unknown;
            }
        }
    }

    /// Ends listening, and the thread with it.
    pub(super) fn end(self, link: &Link) -> Result<()> {
        link.conn.record_disable_context(self.context).map_err(lost)?;
        link.conn.record_free_context(self.context).map_err(lost)?;
        link.sync()
    }
}

fn kind(request: &[u8], keyboard: u8) -> Heard {
    match request {
        [GET_KEYBOARD_MAPPING, ..] => Heard::Keymap,
        [major, GET_MAP, ..] if *major == keyboard => Heard::Keymap,
        _ => Heard::Other,
    }
}
