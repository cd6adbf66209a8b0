//! Numbers of a spreadsheet as text: plain, or the date or time their format makes of them.
//!
//! Dates are written as ISO 8601 whatever the cell's own pattern, because an agent must not have to know whether
//! 3/4 is March or April.

use std::fmt::Write as _;

/// What a number format makes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CellFormat {
    /// The number itself.
    #[default]
    Plain,
    /// A day.
    Date,
    /// A day and a time.
    DateTime,
    /// A time of day.
    Time,
    /// Hours that may be more than a day has.
    Duration,
}

/// The format with this number: one of the built-in ones, or by its pattern.
pub(crate) fn format_of(id: u32, pattern: Option<&str>) -> CellFormat {
    match (pattern, id) {
        (Some(pattern), _) => by_pattern(pattern),
        (None, 14..=17 | 27..=31 | 36 | 50..=54 | 57 | 58) => CellFormat::Date,
        (None, 18..=21 | 32..=35 | 45 | 47 | 55 | 56) => CellFormat::Time,
        (None, 22) => CellFormat::DateTime,
        (None, 46) => CellFormat::Duration,
        _ => CellFormat::Plain,
    }
}

fn by_pattern(pattern: &str) -> CellFormat {
    let (mut day, mut time, mut month, mut elapsed) = (false, false, false, false);
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c.to_ascii_lowercase() {
            ';' => break,
            '"' => drop(chars.by_ref().find(|c| *c == '"')),
            '\\' | '_' | '*' => drop(chars.next()),
            '[' => {
                let inner: String = chars.by_ref().take_while(|c| *c != ']').collect();
                elapsed |= !inner.is_empty() && inner.chars().all(|c| matches!(c.to_ascii_lowercase(), 'h' | 'm' | 's'));
            }
            'y' | 'd' => day = true,
            'h' | 's' => time = true,
            'm' => month = true,
            _ => {}
        }
    }
    match (elapsed, day || (month && !time), time) {
        (true, ..) => CellFormat::Duration,
        (_, true, true) => CellFormat::DateTime,
        (_, true, false) => CellFormat::Date,
        (_, false, true) => CellFormat::Time,
        _ => CellFormat::Plain,
    }
}

/// A number in its format. `from_1904`: the workbook counts days from 1904 (old Macs), not from 1900.
pub(crate) fn number(value: f64, format: CellFormat, from_1904: bool) -> String {
    // 2,958,466 days is the year 10000, where Excel ends too.
    let is_day = value.is_finite() && (0.0..2_958_466.0).contains(&value);
    if format == CellFormat::Plain || !is_day {
        return value.to_string();
    }
    let milliseconds = (value * 86_400_000.0).round() as i64;
    let (days, rest) = (milliseconds.div_euclid(86_400_000), milliseconds.rem_euclid(86_400_000));
    let date = || {
        // Excel believes in 29 February 1900 (day 60); days before it are one later than the count from 1899-12-30.
        let shift = if from_1904 { 1462 } else { i64::from(days < 60) };
        let (year, month, day) = civil(days + shift - 25_569);
        format!("{year:04}-{month:02}-{day:02}")
    };
    match format {
        CellFormat::Duration => clock(days * 86_400_000 + rest),
        CellFormat::Time if days == 0 => clock(rest),
        CellFormat::Date if rest == 0 => date(),
        _ => format!("{} {}", date(), clock(rest)),
    }
}

fn clock(milliseconds: i64) -> String {
    let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000);
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if rest > 0 {
        let _ = write!(text, ".{rest:03}");
    }
    text
}

/// Year, month and day of a day counted from 1970-01-01 (Howard Hinnant's algorithm).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_both_epochs() {
        assert_eq!(number(45_292.0, CellFormat::Date, false), "2024-01-01");
        assert_eq!(number(43_830.0, CellFormat::Date, true), "2024-01-01");
        assert_eq!(number(1.0, CellFormat::Date, false), "1900-01-01");
        assert_eq!(number(59.0, CellFormat::Date, false), "1900-02-28");
        assert_eq!(number(61.0, CellFormat::Date, false), "1900-03-01");
        assert_eq!(number(45_292.5, CellFormat::Date, false), "2024-01-01 12:00:00");
        assert_eq!(number(0.25, CellFormat::Time, false), "06:00:00");
        assert_eq!(number(1.5, CellFormat::Duration, false), "36:00:00");
        assert_eq!(number(-1.0, CellFormat::Date, false), "-1");
        assert_eq!(number(0.1 + 0.2, CellFormat::Plain, false), "0.30000000000000004");
        assert_eq!(number(3.0, CellFormat::Plain, false), "3");
        assert_eq!(number(f64::MAX, CellFormat::Date, false), f64::MAX.to_string());
    }

    #[test]
    fn patterns() {
        for (pattern, format) in [
            ("yyyy-mm-dd", CellFormat::Date),
            ("d/m/yy h:mm", CellFormat::DateTime),
            ("[h]:mm:ss", CellFormat::Duration),
            ("hh:mm", CellFormat::Time),
            ("mmm", CellFormat::Date),
            ("0.00", CellFormat::Plain),
            ("#,##0 \"days\"", CellFormat::Plain),
            ("[Red]0;[Blue]-0", CellFormat::Plain),
            ("[$-409]mmmm d, yyyy;@", CellFormat::Date),
            ("0\\d", CellFormat::Plain),
        ] {
            assert_eq!(format_of(164, Some(pattern)), format, "{pattern}");
        }
        assert_eq!(format_of(14, None), CellFormat::Date);
        assert_eq!(format_of(0, None), CellFormat::Plain);
    }
}
