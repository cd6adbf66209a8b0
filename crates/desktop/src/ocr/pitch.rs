//! Fonts that give every letter the same room.
//!
//! In code and terminals the room is what tells a space from a narrow letter: the gap before an `i` can be wider than a
//! space elsewhere.

/// The room of a letter, in pixels, when these columns of ink (left, right; from left to right) are such letters.
pub(super) fn pitch(signs: &[(i32, i32)]) -> Option<f32> {
    let middles: Vec<i32> = signs.iter().map(|sign| sign.0 + sign.1).collect();
    let steps: Vec<i32> = middles.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut sorted = steps.clone();
    sorted.sort_unstable();
    // Twice the distance, for the middles are twice the places.
    let rough = *sorted.get(sorted.len() / 3).filter(|rough| sorted.len() >= 5 && **rough > 4)?;
    let near = |step: i32| {
        let times = (step + rough / 2) / rough;
        (times >= 1 && (step - times * rough).abs() * 100 <= rough * 14 * times.min(2)).then_some((step, times))
    };
    let even: Vec<(i32, i32)> = steps.iter().filter_map(|step| near(*step)).collect();
    if even.len() * 10 < steps.len() * 8 {
        return None;
    }
    let (length, times) = even.iter().fold((0, 0), |sum, step| (sum.0 + step.0, sum.1 + step.1));
    Some(length as f32 / times as f32 / 2.0)
}

/// How many letters of this room fit between the last letter of one column of ink and the first of the next.
pub(super) fn letters_between(pitch: f32, before: (i32, i32), after: (i32, i32)) -> f32 {
    let room = |sign: (i32, i32)| {
        let width = (sign.1 - sign.0) as f32;
        width / (width / pitch).round().max(1.0) / 2.0
    };
    let distance = (after.0 as f32 + room(after)) - (before.1 as f32 - room(before));
    distance / pitch - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of ink of a text whose letters have 8 pixels of room each.
    fn typed(text: &str) -> Vec<(i32, i32)> {
        let ink = |c: char| if "il.:|".contains(c) { (3, 5) } else { (1, 7) };
        let place = |(at, c): (usize, char)| (c != ' ').then(|| (at as i32 * 8 + ink(c).0, at as i32 * 8 + ink(c).1));
        text.chars().enumerate().filter_map(place).collect()
    }

    #[test]
    fn even_letters_have_a_pitch_and_tell_spaces_from_narrow_letters() {
        let text = "let a: i32 = list.len();";
        let signs = typed(text);
        let pitch = pitch(&signs).unwrap();
        assert!((pitch - 8.0).abs() < 0.3, "{pitch}");
        let inked: Vec<usize> = text.char_indices().filter(|(_, c)| *c != ' ').map(|(at, _)| at).collect();
        for (pair, places) in signs.windows(2).zip(inked.windows(2)) {
            let between = letters_between(pitch, pair[0], pair[1]).round() as usize;
            assert_eq!(between, places[1] - places[0] - 1, "after {}", &text[..=places[0]]);
        }
    }

    #[test]
    fn uneven_letters_have_none() {
        assert_eq!(pitch(&[(0, 3), (5, 14), (16, 18), (20, 33), (35, 41), (43, 45), (48, 60)]), None);
        assert_eq!(pitch(&[(0, 6), (8, 14)]), None, "too few to tell");
    }
}
