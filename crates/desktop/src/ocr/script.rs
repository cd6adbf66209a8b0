//! Letters that only some engines have, and what such an engine makes of the others.
//!
//! An engine for Cyrillic reads everything as Cyrillic, and those without it read it as Latin. So each word is taken from
//! the engine that can know it.

use super::text::mean;
use super::{Glyph, Reading};

/// Letters that only some engines have.
#[derive(Clone, Copy)]
pub(super) enum Script {
    Cyrillic,
    Hangul,
}

impl Script {
    pub(super) fn has(self, c: char) -> bool {
        match self {
            Self::Cyrillic => matches!(c, '\u{400}'..='\u{52f}'),
            Self::Hangul => matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7a3}'),
        }
    }

    /// Whether a letter looks like one of another script, so that it proves nothing.
    pub(super) fn is_shared(self, c: char) -> bool {
        matches!(self, Self::Cyrillic) && !"бджзлфцчшщъыэюяйёБДЖЗЛФЦЧШЩЪЫЭЮЯЙЁИП".contains(c)
    }

    /// Whether `letters` are a Latin word that was forced into this script, as `known` has it (`Кех!` for `Kexi`): it has
    /// Latin letters that no Cyrillic ones look like, and nothing that Latin has not. A capital alone inside a line is
    /// Latin too (`по Y`): such words of Russian are small there.
    fn is_forced(self, letters: &[Glyph], known: &[Glyph], inside: bool) -> bool {
        if !matches!(self, Self::Cyrillic) || letters.iter().any(|g| self.has(g.character) && !self.is_shared(g.character)) {
            return false;
        }
        let own = known.iter().any(|g| "dfgijlqsvwzDFGIJLNQRSUVWZ".contains(g.character));
        let alone = inside && letters.len() == 1 && matches!(known, [one] if one.character.is_ascii_uppercase());
        (own && known.len() >= 2) || alone
    }
}

/// `new`, but words of it that have no letter of its script as `old` has them: that engine knows them better.
pub(super) fn merged(new: &Reading, old: &Reading, script: Script) -> Reading {
    let mut glyphs = Vec::with_capacity(new.glyphs.len());
    for word in new.glyphs.split_inclusive(|g| g.character.is_whitespace()) {
        let (letters, space) = match word.split_last() {
            Some((last, letters)) if last.character.is_whitespace() => (letters, Some(*last)),
            _ => (word, None),
        };
        let (left, right) = (letters.first().map_or(0.0, |g| g.left), letters.last().map_or(0.0, |g| g.right));
        let known: Vec<Glyph> = old.glyphs.iter().copied().filter(|g| (left..right).contains(&f32::midpoint(g.left, g.right))).collect();
        let known = Reading { glyphs: known };
        let foreign = !letters.iter().any(|g| script.has(g.character));
        let latin = known.confidence() >= 0.75 && script.is_forced(letters, &known.glyphs, !glyphs.is_empty());
        let better = if foreign { known.confidence() >= 0.8 } else { latin || (known.confidence() >= 0.9 && mean(letters) < 0.75) };
        glyphs.extend_from_slice(if better { &known.glyphs } else { letters });
        glyphs.extend(space);
    }
    Reading { glyphs }
}

/// Whether letters look like those of another script that were forced into Latin or Han: `CeHeran` for `Сенегал`, one
/// doubtful Han sign for a syllable.
pub(super) fn is_odd(letters: &[Glyph]) -> bool {
    let forced = |g: &Glyph| g.confidence < 0.6 && !g.character.is_ascii() && g.character.is_alphabetic();
    let capital_inside = |three: &[Glyph]| {
        let [a, b, c] = three else { return false };
        a.character.is_ascii_lowercase()
            && "HBTKMREYPCXAON".contains(b.character)
            && (c.character.is_ascii_lowercase() || c.character.is_whitespace())
    };
    // `Macτa6` for `Масштаб`.
    let greek = |c: char| matches!(c, '\u{370}'..='\u{3ff}');
    let greek_inside = |two: &[Glyph]| two.iter().any(|g| greek(g.character)) && two.iter().any(|g| g.character.is_ascii_alphabetic());
    letters.iter().any(forced) || letters.windows(3).any(capital_inside) || letters.windows(2).any(greek_inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading with ten columns a character.
    fn reading(text: &str, confidence: f32) -> Reading {
        let glyph = |(at, character): (usize, char)| Glyph { character, confidence, left: at as f32 * 10.0, right: at as f32 * 10.0 + 9.0 };
        Reading { glyphs: text.chars().enumerate().map(glyph).collect() }
    }

    fn text(reading: &Reading) -> String {
        reading.glyphs.iter().map(|g| g.character).collect()
    }

    #[test]
    fn each_word_comes_from_the_engine_that_knows_it() {
        for (cyrillic, latin, right) in [
            ("Ссылка Кех!", "Ccblka Kexi", "Ссылка Kexi"),
            ("Документ Арр5${", "Aokymeht AppSte", "Документ AppSte"),
            ("Сектор по У", "Cektop no Y", "Сектор по Y"),
            ("У вас", "Y Bac", "У вас"),
            ("Вектор сон", "Bektop coH", "Вектор сон"),
            ("Файл README.", "Oann README.", "Файл README."),
        ] {
            let merged = merged(&reading(cyrillic, 0.9), &reading(latin, 0.95), Script::Cyrillic);
            assert_eq!(text(&merged), right);
        }
        let unsure = merged(&reading("Ссылка Кех!", 0.9), &reading("Ccblka Kexi", 0.6), Script::Cyrillic);
        assert_eq!(text(&unsure), "Ссылка Кех!");
    }

    #[test]
    fn letters_of_two_scripts_in_one_word_are_odd() {
        assert!(is_odd(&reading("Mac\u{3c4}a6", 0.9).glyphs));
        assert!(!is_odd(&reading("Masse \u{3c4} = 6", 0.9).glyphs));
        assert!(!is_odd(&reading("Scale", 0.9).glyphs));
    }
}
