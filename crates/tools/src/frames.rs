//! The pictures that callers were given, so that a place in one of them can be found on the screen.
//!
//! A caller may point at a pixel of a picture that was scaled down or shows a part of the screen: it names the picture
//! by its `frame`. The last sixteen of each conversation are known. A place in an older one, or in one taken before the
//! monitors changed, says nothing about the screen of now, so the answer is to look again.

use deskhand_core::{Caller, ToolError};
use deskhand_desktop::screen::{Capture, Rect, Screen};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};

/// Pictures kept for each conversation.
pub const KEPT: usize = 16;
/// Conversations kept; the one that looked longest ago is forgotten first.
const CONVERSATIONS: usize = 256;

/// What one picture showed.
#[derive(Clone, Debug, PartialEq)]
struct Frame {
    number: u64,
    /// The part of the screen it shows.
    part: Rect,
    /// Its own size in pixels.
    image: (u32, u32),
}

/// What one conversation has seen.
#[derive(Debug, Default)]
struct Seen {
    frames: VecDeque<Frame>,
    /// The screen when it last looked.
    screen: Option<Screen>,
    last_look: u64,
}

#[derive(Debug, Default)]
struct State {
    number: u64,
    seen: HashMap<String, Seen>,
}

/// The registry of all conversations' pictures.
#[derive(Debug, Default)]
pub struct Frames(Mutex<State>);

impl Frames {
    /// Notes a picture of `image` pixels made of `capture`, and gives its id.
    pub fn note(&self, caller: &Caller, capture: &Capture, image: (u32, u32), screen: &Screen) -> String {
        self.add(caller, capture.rect(), image, screen)
    }

    fn add(&self, caller: &Caller, part: Rect, image: (u32, u32), screen: &Screen) -> String {
        let mut state = self.0.lock();
        state.number += 1;
        let number = state.number;
        let seen = look(&mut state, caller, screen);
        seen.frames.push_back(Frame { number, part, image });
        if seen.frames.len() > KEPT {
            seen.frames.pop_front();
        }
        format!("f{number}")
    }

    /// Notes that the caller has seen the screen otherwise, by its text.
    pub fn looked(&self, caller: &Caller, screen: &Screen) {
        let mut state = self.0.lock();
        state.number += 1;
        look(&mut state, caller, screen);
    }

    /// The screen pixel in the middle of the pixel `x`, `y` of the picture `frame`; without one, `x`, `y` itself.
    ///
    /// # Errors
    /// `look_again` for a picture that is no longer known or of a screen that has changed since; `invalid_arguments`
    /// for a place outside the picture.
    pub fn place(&self, caller: &Caller, frame: Option<&str>, (x, y): (i32, i32), screen: &Screen) -> Result<(i32, i32), ToolError> {
        self.check(caller, screen)?;
        let Some(id) = frame else { return Ok((x, y)) };
        let state = self.0.lock();
        let known = id.strip_prefix('f').and_then(|n| n.parse::<u64>().ok());
        let frames = state.seen.get(&caller.scope()).map(|s| &s.frames);
        let Some(frame) = frames.and_then(|f| f.iter().find(|f| Some(f.number) == known)) else {
            return Err(ToolError::look_again(format!(
                "the picture {id:?} is not one of your last {KEPT}; take a new screenshot and use its frame"
            )));
        };
        let inside = |at: i32, length: u32| u32::try_from(at).is_ok_and(|at| at < length);
        if !inside(x, frame.image.0) || !inside(y, frame.image.1) {
            return Err(ToolError::invalid(format!(
                "{x},{y} is outside the picture {id}, which has {}x{} pixels; give a place inside it, or leave frame out for screen pixels",
                frame.image.0, frame.image.1
            )));
        }
        Ok((frame.part.x + on_screen(x, frame.image.0, frame.part.width), frame.part.y + on_screen(y, frame.image.1, frame.part.height)))
    }

    /// Whether the caller's idea of the screen still holds. Every mouse and keyboard tool asks before it acts.
    ///
    /// # Errors
    /// `look_again` when the monitors have changed since the caller last looked.
    pub fn check(&self, caller: &Caller, screen: &Screen) -> Result<(), ToolError> {
        let state = self.0.lock();
        let last = state.seen.get(&caller.scope()).and_then(|s| s.screen.as_ref());
        match last {
            Some(last) if last != screen => Err(ToolError::look_again(format!(
                "the display has changed from {}x{} to {}x{} (or its monitors or scale have) since you last looked; take a new screenshot first",
                last.width, last.height, screen.width, screen.height
            ))),
            _ => Ok(()),
        }
    }
}

/// Remembers what the screen is for this conversation.
fn look<'a>(state: &'a mut State, caller: &Caller, screen: &Screen) -> &'a mut Seen {
    if state.seen.len() >= CONVERSATIONS && !state.seen.contains_key(&caller.scope()) {
        let oldest = state.seen.iter().min_by_key(|(_, s)| s.last_look).map(|(scope, _)| scope.clone());
        oldest.and_then(|scope| state.seen.remove(&scope));
    }
    let now = state.number;
    let seen = state.seen.entry(caller.scope()).or_default();
    seen.last_look = now;
    seen.screen = Some(screen.clone());
    seen
}

/// The middle of a picture's pixel, in screen pixels from the picture's edge.
fn on_screen(at: i32, image: u32, part: u32) -> i32 {
    let middle = (2 * i64::from(at) + 1) * i64::from(part) / (2 * i64::from(image.max(1)));
    i32::try_from(middle.min(i64::from(part) - 1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deskhand_core::ErrorKind;
    use deskhand_desktop::screen::Monitor;

    fn screen(width: u32, height: u32) -> Screen {
        let rect = Rect::new(0, 0, width, height);
        Screen { width, height, scale: 1.0, monitors: vec![Monitor { name: "a".into(), rect, scale: 1.0, primary: true, rotation: 0 }] }
    }

    #[test]
    fn a_place_in_a_picture_is_found_on_the_screen() {
        let (frames, caller, screen) = (Frames::default(), Caller::main(), screen(3840, 2160));
        let half = frames.add(&caller, Rect::new(0, 0, 3840, 2160), (1920, 1080), &screen);
        let part = frames.add(&caller, Rect::new(100, 200, 300, 200), (300, 200), &screen);
        assert_eq!(frames.place(&caller, Some(&half), (0, 0), &screen).unwrap(), (1, 1));
        assert_eq!(frames.place(&caller, Some(&half), (1919, 1079), &screen).unwrap(), (3839, 2159));
        assert_eq!(frames.place(&caller, Some(&part), (299, 0), &screen).unwrap(), (399, 200));
        assert_eq!(frames.place(&caller, None, (7, 8), &screen).unwrap(), (7, 8));
        let outside = frames.place(&caller, Some(&part), (300, 0), &screen).unwrap_err();
        assert!(outside.kind == ErrorKind::InvalidArguments && outside.message.contains("300x200"));
    }

    #[test]
    fn sixteen_newer_pictures_or_another_caller_or_a_changed_display_mean_look_again() {
        let (frames, caller, small) = (Frames::default(), Caller::main(), screen(800, 600));
        let first = frames.add(&caller, Rect::new(0, 0, 800, 600), (800, 600), &small);
        for _ in 0..KEPT - 1 {
            frames.add(&caller, Rect::new(0, 0, 800, 600), (800, 600), &small);
        }
        assert!(frames.place(&caller, Some(&first), (1, 1), &small).is_ok());
        let last = frames.add(&caller, Rect::new(0, 0, 800, 600), (800, 600), &small);
        let kind = |c: &Caller, frame: &str, s: &Screen| frames.place(c, Some(frame), (1, 1), s).unwrap_err().kind;
        assert_eq!(kind(&caller, &first, &small), ErrorKind::LookAgain);
        assert_eq!(kind(&Caller::client("other"), &last, &small), ErrorKind::LookAgain);
        assert_eq!(kind(&caller, "nonsense", &small), ErrorKind::LookAgain);
        let large = screen(1024, 768);
        assert_eq!(kind(&caller, &last, &large), ErrorKind::LookAgain);
        assert!(frames.check(&Caller::client("never looked"), &large).is_ok());
        frames.looked(&caller, &large);
        assert!(frames.check(&caller, &large).is_ok());
    }

    #[test]
    fn conversations_do_not_pile_up() {
        let (frames, screen) = (Frames::default(), screen(10, 10));
        for i in 0..CONVERSATIONS + 50 {
            frames.looked(&Caller::main().in_session(i.to_string()), &screen);
        }
        assert_eq!(frames.0.lock().seen.len(), CONVERSATIONS);
    }
}
