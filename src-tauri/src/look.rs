//! How the app looks from outside: one of five states, its icon drawn here, and the menu's entries. No window, no tray is
//! needed to test this.

use crate::words::Words;
use deskhand_app::person::snapshot::Snapshot;

/// What the icon shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// AI control is off.
    Off,
    /// It is on, and nothing happens.
    Ready,
    /// An agent acts.
    Acting,
    /// It is held.
    Paused,
    /// The worker does not run, or not all of it.
    Problem,
}

impl State {
    /// The state in a snapshot. What the person must know of comes first.
    pub fn of(snapshot: &Snapshot) -> Self {
        match snapshot.control.state {
            "paused" => Self::Paused,
            "authorised" if snapshot.acting.is_some() => Self::Acting,
            "authorised" => Self::Ready,
            _ if snapshot.problem.is_some() => Self::Problem,
            _ => Self::Off,
        }
    }

    /// In words.
    pub fn title(self, words: &Words) -> &'static str {
        match self {
            Self::Off => words.off,
            Self::Ready => words.ready,
            Self::Acting => words.acting,
            Self::Paused => words.paused,
            Self::Problem => words.problem,
        }
    }

    /// Red, green, blue of the disc.
    fn colour(self) -> [u8; 3] {
        match self {
            Self::Off => [0x6b, 0x72, 0x80],
            Self::Ready => [0x15, 0x80, 0x3d],
            Self::Acting => [0x1d, 0x4e, 0xd8],
            Self::Paused => [0xb4, 0x53, 0x09],
            Self::Problem => [0xb9, 0x1c, 0x1c],
        }
    }
}

/// An entry of the menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is called by the program.
    pub id: &'static str,
    /// What it says.
    pub text: &'static str,
    /// Whether it can be chosen now.
    pub enabled: bool,
}

/// The menu's entries in this state, "Authorize" with its three times first.
pub fn entries(snapshot: &Snapshot, words: &Words) -> [Entry; 8] {
    let control = snapshot.control.state;
    let entry = |id, text, enabled| Entry { id, text, enabled };
    // Without a worker there is nothing to authorise.
    let may = control != "paused" && snapshot.runs;
    [
        entry("authorize", words.authorize, may),
        entry("authorize-15", words.quarter, may),
        entry("authorize-60", words.hour, may),
        entry("authorize-lasting", words.lasting, may),
        if control == "paused" { entry("pause", words.resume, true) } else { entry("pause", words.pause, control == "authorised") },
        // Never greyed out: it must work whatever this app believes.
        entry("stop", words.stop, true),
        entry("open", words.open, true),
        entry("quit", words.quit, true),
    ]
}

/// An arrow like a mouse pointer's, in a square of 24.
const ARROW: [(f32, f32); 7] = [(8.2, 5.0), (8.2, 17.6), (11.2, 14.9), (13.3, 19.4), (15.6, 18.4), (13.6, 14.1), (17.6, 13.7)];

/// The icon of a state: a disc with a pointer, square, `size` pixels a side, RGBA.
pub fn icon(state: State, size: u32) -> Vec<u8> {
    const SAMPLES: u32 = 4;
    let scale = 24.0 / size as f32;
    let mut pixels = Vec::with_capacity((size * size * 4) as usize);
    for y in 0..size {
        for x in 0..size {
            let (mut disc, mut sign) = (0u32, 0u32);
            for sample in 0..SAMPLES * SAMPLES {
                let at = |pixel: u32, part: u32| (pixel as f32 + (part as f32 + 0.5) / SAMPLES as f32) * scale;
                let (px, py) = (at(x, sample % SAMPLES), at(y, sample / SAMPLES));
                if (px - 12.0).hypot(py - 12.0) <= 11.5 {
                    disc += 1;
                    sign += u32::from(drawn(state, px, py));
                }
            }
            let all = SAMPLES * SAMPLES;
            let mixed =
                |c: u8| (u32::from(c) * (disc - sign) + 255 * sign).checked_div(disc).and_then(|v| u8::try_from(v).ok()).unwrap_or(0);
            pixels.extend(state.colour().map(mixed));
            pixels.push(u8::try_from(disc * 255 / all).unwrap_or(255));
        }
    }
    pixels
}

/// Whether the white sign of a state covers this place: colour alone tells nothing to many people.
fn drawn(state: State, x: f32, y: f32) -> bool {
    let within = |from: (f32, f32), to: (f32, f32)| (from.0..=to.0).contains(&x) && (from.1..=to.1).contains(&y);
    match state {
        State::Paused => within((8.0, 7.0), (10.8, 17.0)) || within((13.2, 7.0), (16.0, 17.0)),
        State::Problem => within((10.6, 5.5), (13.4, 13.8)) || (x - 12.0).hypot(y - 17.0) <= 1.6,
        State::Acting => inside(x, y) || ((x - 12.0).hypot(y - 12.0) - 10.2).abs() <= 0.7,
        State::Ready => inside(x, y),
        State::Off => {
            let edge = [(0.9, 0.0), (-0.9, 0.0), (0.0, 0.9), (0.0, -0.9)];
            inside(x, y) && edge.iter().any(|(dx, dy)| !inside(x + dx, y + dy))
        }
    }
}

/// Whether a place is in the arrow.
fn inside(x: f32, y: f32) -> bool {
    let mut odd = false;
    for (i, (x1, y1)) in ARROW.iter().enumerate() {
        let (x2, y2) = ARROW[(i + 1) % ARROW.len()];
        if (*y1 > y) != (y2 > y) && x < (x2 - x1) * (y - y1) / (y2 - y1) + x1 {
            odd = !odd;
        }
    }
    odd
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words;
    use deskhand_app::person::Person;
    use deskhand_app::person::settings::Language;
    use deskhand_app::person::snapshot::Acting;

    fn snapshot() -> Snapshot {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { Person::new(deskhand_app::StateFolder::open(Some(dir.path())).unwrap()).unwrap().snapshot() })
    }

    #[test]
    fn each_state_has_an_icon_of_its_own() {
        let states = [State::Off, State::Ready, State::Acting, State::Paused, State::Problem];
        let icons: Vec<_> = states.map(|state| icon(state, 32)).into();
        for (i, one) in icons.iter().enumerate() {
            assert_eq!(one.len(), 32 * 32 * 4);
            assert!(one[3] == 0 && one[(16 * 32 + 16) * 4 + 3] == 255, "round, and solid in the middle");
            // Not by colour alone: where the one is white, the other is not.
            let white = |icon: &[u8]| icon.chunks(4).map(|p| p[..3] == [255; 3]).collect::<Vec<_>>();
            assert!(icons[i + 1..].iter().all(|other| white(other) != white(one)));
        }
    }

    #[test]
    fn the_state_is_what_the_person_must_know_of() {
        let mut shown = snapshot();
        assert_eq!(State::of(&shown), State::Off);
        shown.problem = Some("x".into());
        assert_eq!(State::of(&shown), State::Problem);
        shown.control.state = "authorised";
        assert_eq!(State::of(&shown), State::Ready);
        shown.acting = Some(Acting { caller: "main".into(), caller_name: "m".into(), tool: "t".into() });
        assert_eq!(State::of(&shown), State::Acting);
        shown.control.state = "paused";
        assert_eq!(State::of(&shown), State::Paused);
    }

    #[test]
    fn the_menu_offers_what_can_be_done_and_stop_always() {
        let mut shown = snapshot();
        let of = |shown: &Snapshot, id: &str| entries(shown, words(Language::English)).into_iter().find(|e| e.id == id).unwrap();
        assert!(!of(&shown, "authorize").enabled && !of(&shown, "pause").enabled && of(&shown, "stop").enabled);
        shown.runs = true;
        assert!(of(&shown, "authorize-15").enabled);
        shown.control.state = "paused";
        assert_eq!(of(&shown, "pause"), Entry { id: "pause", text: "Resume", enabled: true });
        assert!(!of(&shown, "authorize").enabled && of(&shown, "stop").enabled);
        assert_eq!(entries(&shown, words(Language::Chinese))[6].text, "打开 Deskhand");
    }
}
