//! The clipboard: read it, set it, and keep what was on it.
//!
//! On X11 the clipboard is not a place but a program that answers questions. To keep its content everything it offers is
//! asked for, in every form; to put it back we become the program that answers, until somebody copies something else.
//! Pictures, rich text and file lists survive this, as all forms are kept as bytes and none is understood.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::Result;

#[cfg(target_os = "linux")]
mod x11;

/// What was on the clipboard, in every form that was offered. It never prints itself.
#[derive(Clone, Default)]
pub struct Saved {
    content: Arc<Content>,
    /// Our own text that stands there meanwhile: only that is replaced when this is put back.
    #[cfg(not(target_os = "linux"))]
    native: Option<Arc<Native>>,
}

/// Bytes by the name of their form (an X11 target such as `image/png`).
type Content = BTreeMap<String, Vec<u8>>;

#[cfg(not(target_os = "linux"))]
enum Native {
    Text(String),
    Image(arboard::ImageData<'static>),
}

impl fmt::Debug for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: usize = self.content.values().map(Vec::len).sum();
        write!(f, "Saved({} forms, {bytes} bytes)", self.content.len())
    }
}

impl Saved {
    /// Whether nothing was on the clipboard.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        #[cfg(not(target_os = "linux"))]
        if self.native.is_some() {
            return false;
        }
        self.content.is_empty()
    }

    /// The names of the forms that were kept.
    pub fn forms(&self) -> impl Iterator<Item = &str> {
        self.content.keys().map(String::as_str)
    }
}

/// The clipboard of a display, opened when it is first needed.
pub struct Clipboard {
    #[cfg(target_os = "linux")]
    name: Option<String>,
    #[cfg(target_os = "linux")]
    owner: parking_lot::Mutex<Option<Arc<x11::Owner>>>,
}

impl fmt::Debug for Clipboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clipboard")
    }
}

#[cfg(target_os = "linux")]
impl Clipboard {
    /// The clipboard of the X11 display of this name, or of the session's own. Nothing is opened yet.
    #[must_use]
    pub fn new(display: Option<String>) -> Self {
        Self { name: display, owner: parking_lot::Mutex::default() }
    }

    /// The text on it; `None` when there is none.
    ///
    /// # Errors
    /// [`crate::Error::Unavailable`] without a display; [`crate::Error::Failed`] when its owner does not answer.
    pub fn text(&self) -> Result<Option<String>> {
        self.asked(|owner| owner.text())
    }

    /// Puts text on it.
    ///
    /// # Errors
    /// [`crate::Error::Unavailable`] without a display; [`crate::Error::Failed`] when another program keeps it.
    pub fn set_text(&self, text: &str) -> Result<()> {
        let forms = ["UTF8_STRING", "text/plain;charset=utf-8", "text/plain", "TEXT"];
        let mut content: Content = forms.map(|f| (f.to_owned(), text.as_bytes().to_vec())).into();
        // STRING is Latin-1: offered only where that holds the text.
        let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
        content.extend(latin.map(|bytes| ("STRING".to_owned(), bytes)));
        self.asked(|owner| owner.own(Arc::new(content.clone())))
    }

    /// Keeps all that is on it, in every form.
    ///
    /// # Errors
    /// [`crate::Error::Failed`] when its owner does not answer or offers more than 256 MB: then it must be left alone.
    pub fn save(&self) -> Result<Saved> {
        self.asked(|owner| owner.save()).map(|content| Saved { content })
    }

    /// Puts back what was kept, unless somebody copied something since we last put text there: theirs is newer.
    ///
    /// Whether it was put back.
    ///
    /// # Errors
    /// [`crate::Error::Unavailable`] without a display.
    pub fn put_back(&self, saved: &Saved) -> Result<bool> {
        self.asked(|owner| owner.put_back(&saved.content))
    }

    fn asked<T>(&self, ask: impl Fn(&x11::Owner) -> Result<T>) -> Result<T> {
        let mut held = self.owner.lock();
        let alive = held.as_ref().filter(|o| o.is_alive()).map(Arc::clone);
        let owner = match alive {
            Some(owner) => owner,
            None => Arc::clone(held.insert(Arc::new(x11::Owner::open(self.name.as_deref())?))),
        };
        drop(held);
        ask(&owner)
    }
}

#[cfg(not(target_os = "linux"))]
impl Clipboard {
    /// The system's clipboard.
    #[must_use]
    pub fn new(_: Option<String>) -> Self {
        Self {}
    }

    fn open() -> Result<arboard::Clipboard> {
        arboard::Clipboard::new().map_err(|e| crate::Error::failed("opening the clipboard", e))
    }

    /// The text on it; `None` when there is none.
    ///
    /// # Errors
    /// [`crate::Error::Failed`] when another program keeps it.
    pub fn text(&self) -> Result<Option<String>> {
        match Self::open()?.get_text() {
            Ok(text) => Ok(Some(text)),
            Err(arboard::Error::ContentNotAvailable) => Ok(None),
            Err(e) => Err(crate::Error::failed("reading the clipboard", e)),
        }
    }

    /// Puts text on it.
    ///
    /// # Errors
    /// [`crate::Error::Failed`] when another program keeps it.
    pub fn set_text(&self, text: &str) -> Result<()> {
        Self::open()?.set_text(text).map_err(|e| crate::Error::failed("setting the clipboard", e))
    }

    /// Keeps the text or picture that is on it.
    ///
    /// # Errors
    /// [`crate::Error::Failed`] when another program keeps it, or when it holds something that cannot be kept: then it
    /// must be left alone.
    pub fn save(&self) -> Result<Saved> {
        let mut board = Self::open()?;
        let native = match (board.get_image(), board.get_text()) {
            (Ok(image), _) => Some(Arc::new(Native::Image(image.to_owned_img()))),
            (_, Ok(text)) => Some(Arc::new(Native::Text(text))),
            (Err(arboard::Error::ContentNotAvailable), Err(arboard::Error::ContentNotAvailable)) => None,
            (_, Err(e)) => return Err(crate::Error::failed("keeping what is on the clipboard", e)),
        };
        Ok(Saved { content: Arc::default(), native })
    }

    /// Puts back what was kept.
    ///
    /// # Errors
    /// [`crate::Error::Failed`] when another program keeps it.
    pub fn put_back(&self, saved: &Saved) -> Result<bool> {
        let mut board = Self::open()?;
        let done = match saved.native.as_deref() {
            Some(Native::Text(text)) => board.set_text(text.as_str()),
            Some(Native::Image(image)) => board.set_image(image.clone()),
            None => board.clear(),
        };
        done.map(|()| true).map_err(|e| crate::Error::failed("putting the clipboard's content back", e))
    }
}
