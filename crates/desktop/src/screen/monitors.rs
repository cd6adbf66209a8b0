//! What there is to see on: the virtual screen and its monitors.

use super::Rect;
use crate::{Error, Result};

/// The virtual screen: the smallest rectangle around all monitors, origin 0,0.
#[derive(Clone, Debug, PartialEq)]
pub struct Screen {
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// How much larger than at 96 dots an inch things are drawn. Information only.
    pub scale: f64,
    /// At least one, in the order of the system.
    pub monitors: Vec<Monitor>,
}

/// One monitor.
#[derive(Clone, Debug, PartialEq)]
pub struct Monitor {
    /// Its name, such as `HDMI-1`.
    pub name: String,
    /// Where it lies on the virtual screen, in physical pixels, rotation already applied.
    pub rect: Rect,
    /// How much larger than at 96 dots an inch things are drawn on it. Information only.
    pub scale: f64,
    /// Whether it is the main one.
    pub primary: bool,
    /// Degrees it is turned by: 0, 90, 180 or 270.
    pub rotation: u16,
}

impl Screen {
    /// The operating system's name: `linux`, `windows` or `macos`.
    #[must_use]
    pub const fn platform(&self) -> &'static str {
        std::env::consts::OS
    }

    /// The monitor of this number (from 0) or name; `primary` is the main one.
    ///
    /// # Errors
    /// [`Error::NotFound`] listing those that are there.
    pub fn monitor(&self, wanted: &str) -> Result<&Monitor> {
        let by_name = self.monitors.iter().find(|m| m.name == wanted);
        let by_number = || wanted.parse::<usize>().ok().and_then(|i| self.monitors.get(i));
        let primary = || self.monitors.iter().find(|m| m.primary && wanted == "primary");
        by_name.or_else(by_number).or_else(primary).ok_or_else(|| {
            let there: Vec<_> = self.monitors.iter().enumerate().map(|(i, m)| format!("{i} ({})", m.name)).collect();
            Error::NotFound(format!("there is no monitor {wanted:?}; there are {}", there.join(", ")))
        })
    }
}

/// The scale a session asks for: `Xft.dpi` of the X resources, else the toolkits' variables, else 1.
///
/// A desktop at 200 % sets several of these to the same end, so they are alternatives and are never multiplied.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(super) fn scale_of(resources: &str, variable: impl Fn(&str) -> Option<String>) -> f64 {
    let dpi = resources.lines().find_map(|l| l.strip_prefix("Xft.dpi:")).and_then(|v| v.trim().parse::<f64>().ok());
    let number = |name: &str| variable(name).and_then(|v| v.trim().parse::<f64>().ok());
    let gtk = || number("GDK_SCALE").map(|s| s * number("GDK_DPI_SCALE").unwrap_or(1.0));
    let scale = dpi.map(|d| d / 96.0).or_else(gtk).or_else(|| number("QT_SCALE_FACTOR")).unwrap_or(1.0);
    if (0.25..=16.0).contains(&scale) { (scale * 100.0).round() / 100.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn monitor(name: &str, x: i32, primary: bool) -> Monitor {
        Monitor { name: name.into(), rect: Rect::new(x, 0, 100, 100), scale: 1.0, primary, rotation: 0 }
    }

    #[test]
    fn a_monitor_is_found_by_name_number_or_as_the_primary_one() {
        let monitors = vec![monitor("left", 0, false), monitor("right", 100, true)];
        let screen = Screen { width: 200, height: 100, scale: 1.0, monitors };
        assert_eq!(screen.monitor("right").unwrap().rect.x, 100);
        assert_eq!(screen.monitor("0").unwrap().name, "left");
        assert_eq!(screen.monitor("primary").unwrap().name, "right");
        let error = screen.monitor("HDMI-9").unwrap_err().to_string();
        assert!(error.contains("HDMI-9") && error.contains("1 (right)"), "{error}");
    }

    #[test]
    fn a_scale_is_taken_once_and_only_if_it_can_be_one() {
        let gtk = |name: &str| (name == "GDK_SCALE").then(|| "2".to_owned());
        assert!((scale_of("*x: 1\nXft.dpi:\t192\n", gtk) - 2.0).abs() < 1e-9);
        assert!((scale_of("Xft.dpi: 120", |_| None) - 1.25).abs() < 1e-9);
        assert!((scale_of("", gtk) - 2.0).abs() < 1e-9);
        assert!((scale_of("Xft.dpi: 0", |_| None) - 1.0).abs() < 1e-9);
        assert!((scale_of("", |_| Some("nonsense".into())) - 1.0).abs() < 1e-9);
    }
}
