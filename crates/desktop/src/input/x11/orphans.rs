//! What a worker that was killed left behind on an X server.

use std::sync::Arc;

use x11rb::protocol::xinput::{ConnectionExt as _, DeviceType, InputStateData};
use x11rb::protocol::xproto::{self, ConnectionExt as _};

use super::devices::{self, Hand};
use super::link::{Link, down};
use super::spare;
use crate::Result;
use crate::held::{Entry, Journal, Released};
use crate::screen::x11::{lost, refused};

/// Lets go of keys and buttons that are still down on the device of fake events, and gives lent keys back.
pub(crate) fn release(entry: &Entry) -> Result<Released> {
    let link = match Link::open(entry.display.as_deref(), Arc::new(Journal::default())) {
        Ok(link) => link,
        // A display that is gone holds nothing.
        Err(e) => {
            tracing::info!("what the last worker held is gone with its display: {e}");
            return Ok(Released::default());
        }
    };
    let mut released = Released::default();
    let held = devices::down_by(&link, Hand::Fake)?;
    for code in entry.keys.iter().filter(|c| held.contains(c)) {
        link.key(*code, false)?;
        released.keys += 1;
    }
    let held = buttons_down(&link)?;
    for button in entry.buttons.iter().filter(|b| held.contains(b)) {
        link.fake(xproto::BUTTON_RELEASE_EVENT, *button)?;
        released.buttons += 1;
    }
    link.conn.grab_server().map_err(lost)?;
    let given = spare::take_back(&link, &entry.lent);
    link.conn.ungrab_server().map_err(lost)?;
    released.lent = given?;
    link.sync()?;
    Ok(released)
}

fn buttons_down(link: &Link) -> Result<Vec<u8>> {
    let all = link.conn.xinput_xi_query_device(0u16).map_err(lost)?.reply().map_err(refused)?;
    let mut held = Vec::new();
    for device in all.infos.iter().filter(|d| d.type_ == DeviceType::SLAVE_POINTER && d.name.windows(5).any(|w| w == b"XTEST")) {
        let Ok(id) = u8::try_from(device.deviceid) else { continue };
        let Ok(state) = link.conn.xinput_query_device_state(id).map_err(lost)?.reply() else { continue };
        for class in &state.classes {
            if let InputStateData::Button(b) = &class.data {
                held.extend(down(&b.buttons));
            }
        }
    }
    Ok(held)
}
