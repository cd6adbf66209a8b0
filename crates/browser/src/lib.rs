//! The browser engine: one set of page operations over any [`Transport`], for a Chromium that Deskhand manages and for
//! the person's own browser through the extension. Imports nothing of ours, so that what is allowed (schemes, files,
//! uploads, origins) comes in as data and closures.
//!
//! # Selectors
//! CSS; `text=Save` (the innermost element that shows the text, in any case; quoted: the whole text exactly);
//! `role=button[name="Save"]` (role and accessible name). A selector that matches nothing in the main document is looked
//! for in its open shadow roots, as if these were not there (`x-menu button`), and then in all frames, of the same origin
//! or not. `x >>> y` looks for `y` inside the shadow root or the frame of `x`. Closed shadow roots cannot be reached.
//! Of several matches actions take the first visible one, readers the first in document order.
//!
//! # Dialogs
//! `alert` is accepted, `confirm` and `prompt` are dismissed (nothing is agreed to in the person's name), `beforeunload`
//! is accepted (leaving is what the agent asked for). Each is answered at once and told in the result.

mod browser;
mod browsers;
mod callers;
mod error;
pub mod extension;
pub mod managed;
mod page;
mod policy;
mod setup;
mod tab;
pub mod tab_ids;
pub mod transport;

pub use browsers::Browsers;
pub use error::BrowserError;
pub use page::{
    Arrived, Attribute, Clicked, Content, Executed, Link, Links, Modifiers, Page, Picture, Pressed, Scrolled, Shot, TEXT_MAX, Typed,
    Viewport, Went,
};
pub use policy::{FileRule, Policy, Refused, UploadRule};
pub use setup::{CdpRoute, Choice, Naming, Setup, Source, TabRow};
pub use tab::{Dialog, Downloaded, Happened, OpenedTab};
pub use tab_ids::TabIds;
pub use transport::{Download, Event, Kind, OpenTab, Route, TabId, TabInfo, Transport, TransportError};
