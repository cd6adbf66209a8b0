//! Every tool: its arguments, group, effect, handler and test, one family a file.
//!
//! To add a tool: write a unit struct that implements [`deskhand_core::Tool`] in its family's file, add one line to
//! [`registry`], and run `deskhand tools --format md > crates/tools/TOOLS.md` and `--format json > crates/tools/tools.json`
//! (a test fails while these two drift). Everything else is derived.

mod acting;
mod browsing;
mod engine_errors;
mod files;
pub mod frames;
mod gui_action;
mod keyboard;
mod mouse;
mod page;
mod page_input;
mod page_read;
mod pages;
mod screen;
mod tabs;
mod text;

pub use pages::{as_json, as_markdown};

use deskhand_browser::Browsers;
use deskhand_core::{Handler, Registry};
use deskhand_desktop::input::Desktop;
use deskhand_desktop::ocr::Reader;
use deskhand_desktop::screen::Display;
use deskhand_desktop::session::Session;
use deskhand_files::Files;
use std::sync::Arc;

/// What the tools work on: the engines, opened by the composition root.
pub struct Host {
    /// Pointer and keyboard.
    pub desktop: Desktop,
    /// Pictures of the screen, its monitors and windows.
    pub display: Arc<Display>,
    /// Whether somebody can be at the screen at all: locked sessions are left alone.
    pub session: Session,
    /// The pictures that callers were given.
    pub frames: frames::Frames,
    /// Reads text from pictures.
    pub reader: Reader,
    /// The folders that agents may use; shared with the browser's policy.
    pub files: Arc<Files>,
    /// The managed browser and the person's own ones.
    pub browsers: Arc<Browsers>,
}

/// All tools of this worker, in the order in which they are listed.
#[must_use]
pub fn registry(host: &Arc<Host>) -> Registry {
    let mut registry = Registry::default();
    macro_rules! tools { ($($tool:path,)*) => { $(registry.add(Handler::new::<$tool>(host));)* } }
    // One line a tool, in the order of the contract. Each family's author uncomments the lines of the family.
    tools! {
        screen::Screenshot,
        screen::ScreenSize,
        screen::ActiveWindow,
        text::ScreenText,
        mouse::MouseClick,
        mouse::MouseMove,
        mouse::MouseDrag,
        mouse::MouseScroll,
        keyboard::KeyboardType,
        keyboard::KeyboardPress,
        files::FileRead,
        files::FileWrite,
        files::FileList,
        files::Whitelist,
        files::FileSearch,
        page::GetInfo,
        screen::GuiScreenshot,
        gui_action::ExecuteAction,
        page::Navigate,
        page_read::Screenshot,
        page_input::Click,
        page_input::Type,
        page_read::GetContent,
        page_read::Execute,
        tabs::List,
        tabs::New,
        tabs::Close,
        page::GoBack,
        page::GoForward,
        page::Reload,
        tabs::Current,
        tabs::Select,
        page_input::Scroll,
        page_input::KeyPress,
        page_read::GetAttribute,
        page_read::GetLinks,
        page_read::Wait,
        text::ClickText,
        text::WaitFor,
    }
    registry
}
