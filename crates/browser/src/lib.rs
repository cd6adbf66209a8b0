//! The browser engine: one set of page operations over any [`Transport`], for a Chromium that Deskhand manages and for
//! the person's own browser through the extension. Imports nothing of ours, so that what is allowed (schemes, files,
//! uploads, origins) comes in as data and closures.

pub mod extension;
pub mod tab_ids;
pub mod transport;

pub use tab_ids::TabIds;
pub use transport::{Download, Event, Kind, OpenTab, Route, TabId, TabInfo, Transport, TransportError};
