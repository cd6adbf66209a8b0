//! Which keyboard holds a key down.
//!
//! Fake events come from a keyboard device of their own. When a modifier that was set aside belongs to a keyboard that a
//! person has under the hands, that device knows whether it is still down, and only then may it be pressed again for them.

use x11rb::protocol::xinput::{ConnectionExt as _, DeviceType, InputStateData};

use super::link::{Link, down};
use crate::Result;
use crate::screen::x11::{lost, refused};

/// Whose keys to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hand {
    /// A keyboard that a person types on.
    Real,
    /// The device that fake events come from, ours and other programs'.
    Fake,
}

/// Keycodes that are down on the keyboards of one kind.
pub(super) fn down_by(link: &Link, hand: Hand) -> Result<Vec<u8>> {
    let all = link.conn.xinput_xi_query_device(0u16).map_err(lost)?.reply().map_err(refused)?;
    let mut codes = Vec::new();
    for device in all.infos.iter().filter(|d| d.type_ == DeviceType::SLAVE_KEYBOARD) {
        let fake = device.name.windows(5).any(|w| w == b"XTEST");
        if fake == (hand == Hand::Fake) {
            codes.extend(down_on(link, device.deviceid)?);
        }
    }
    Ok(codes)
}

fn down_on(link: &Link, keyboard: u16) -> Result<Vec<u8>> {
    let Ok(id) = u8::try_from(keyboard) else { return Ok(Vec::new()) };
    // A device that was unplugged meanwhile holds nothing.
    let Ok(state) = link.conn.xinput_query_device_state(id).map_err(lost)?.reply() else { return Ok(Vec::new()) };
    Ok(state.classes.iter().find_map(|c| if let InputStateData::Key(k) = &c.data { Some(down(&k.keys)) } else { None }).unwrap_or_default())
}
