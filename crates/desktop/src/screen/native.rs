//! Screens that are not an X11 server's: Windows, macOS and Wayland, by way of `xcap`.
//!
//! Where monitors may lie left of or above the main one (Windows, macOS), everything is moved so that the virtual screen
//! begins at 0,0. On Wayland `xcap` asks the compositor or the desktop portal, which may show the person a question.

use xcap::image::RgbaImage;

use super::capture::Capture;
use super::monitors::{Monitor, Screen};
use super::{Order, Rect};
use crate::{Error, Result};

fn refused(error: impl std::fmt::Display) -> Error {
    let remedy = if cfg!(target_os = "macos") {
        "allow Deskhand under System Settings, Privacy & Security, Screen Recording"
    } else if cfg!(target_os = "linux") {
        "allow the screenshot when the desktop asks (xdg-desktop-portal must be installed), or log in to an X11 session"
    } else {
        "unlock the session and see that a screen is connected"
    };
    Error::Unavailable { what: "the picture of the screen", reason: error.to_string(), remedy: remedy.into() }
}

fn described(monitor: &xcap::Monitor) -> Result<Monitor> {
    let place = || -> Result<_, xcap::XCapError> { Ok(Rect::new(monitor.x()?, monitor.y()?, monitor.width()?, monitor.height()?)) };
    Ok(Monitor {
        name: monitor.name().unwrap_or_default(),
        rect: place().map_err(refused)?,
        scale: f64::from(monitor.scale_factor().unwrap_or(1.0)),
        primary: monitor.is_primary().unwrap_or(false),
        rotation: monitor.rotation().map_or(0, |r| r.rem_euclid(360.0) as u16),
    })
}

/// The virtual screen, and how far it was moved to begin at 0,0.
fn placed() -> Result<(Screen, Vec<xcap::Monitor>, (i32, i32))> {
    let found = xcap::Monitor::all().map_err(refused)?;
    let mut monitors = found.iter().map(described).collect::<Result<Vec<_>>>()?;
    let around = monitors.iter().map(|m| m.rect).reduce(|a, b| a.union(&b)).ok_or_else(|| refused("no monitor is connected"))?;
    for monitor in &mut monitors {
        monitor.rect = monitor.rect.moved(-around.x, -around.y);
    }
    let scale = monitors.iter().find(|m| m.primary).map_or(1.0, |m| m.scale);
    Ok((Screen { width: around.width, height: around.height, scale, monitors }, found, (around.x, around.y)))
}

/// What there is to see on.
pub(super) fn screen() -> Result<Screen> {
    placed().map(|(screen, ..)| screen)
}

/// What there is to see on, and where the system says that it begins: input is placed there.
pub(crate) fn screen_and_origin() -> Result<(Screen, (i32, i32))> {
    placed().map(|(screen, _, origin)| (screen, origin))
}

/// Takes a picture of `rect`, made of what each monitor shows of it.
pub(super) fn capture(rect: Option<Rect>) -> Result<Capture> {
    let (screen, found, _) = placed()?;
    let whole = Rect::new(0, 0, screen.width, screen.height);
    let part = rect.unwrap_or(whole).intersection(&whole).ok_or_else(|| {
        Error::Invalid(format!("the region lies outside the screen of {}x{}; give x,y,width,height inside it", screen.width, screen.height))
    })?;
    let mut pixels = vec![0; part.width as usize * part.height as usize * 4];
    for (monitor, place) in found.iter().zip(screen.monitors.iter().map(|m| m.rect)) {
        if place.intersection(&part).is_some() {
            let shown = monitor.capture_image().map_err(refused)?;
            paste(&mut pixels, part, &shown, place);
        }
    }
    if cfg!(target_os = "linux") && pixels.as_chunks::<4>().0.iter().all(|p| p[..3] == [0, 0, 0]) {
        return Err(refused("the compositor gave a black picture"));
    }
    let capture = Capture::from_pixels(part.width, part.height, pixels, Order::Rgbx);
    let capture = capture.ok_or_else(|| refused("the picture has no pixels"))?;
    Ok(capture.placed((part.x, part.y), (screen.width, screen.height), screen.scale))
}

/// Copies what `shown` (a monitor at `place`) has of `part`. A monitor whose picture is larger than its place (a scaled
/// one, in points) is sampled at its place's pixels.
fn paste(pixels: &mut [u8], part: Rect, shown: &RgbaImage, place: Rect) {
    let Some(common) = part.intersection(&place) else { return };
    let source = |at: i32, start: i32, len: u32, has: u32| (u64::from(at.abs_diff(start)) * u64::from(has) / u64::from(len.max(1))) as u32;
    for y in common.y..common.bottom() {
        for x in common.x..common.right() {
            let (sx, sy) = (source(x, place.x, place.width, shown.width()), source(y, place.y, place.height, shown.height()));
            let at = (y.abs_diff(part.y) as usize * part.width as usize + x.abs_diff(part.x) as usize) * 4;
            if let (Some(to), Some(from)) = (pixels.get_mut(at..at + 4), shown.get_pixel_checked(sx, sy)) {
                to.copy_from_slice(&from.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monitors_are_put_together_and_cut() {
        let left = RgbaImage::from_pixel(4, 4, [255, 0, 0, 255].into());
        let right = RgbaImage::from_pixel(8, 8, [0, 0, 255, 255].into());
        let part = Rect::new(2, 1, 4, 2);
        let mut pixels = vec![0; 32];
        paste(&mut pixels, part, &left, Rect::new(0, 0, 4, 4));
        paste(&mut pixels, part, &right, Rect::new(4, 0, 4, 4));
        let rows: Vec<_> = pixels.as_chunks::<4>().0.iter().map(|p| [p[0], p[2]]).collect();
        assert_eq!(rows, [[255, 0], [255, 0], [0, 255], [0, 255]].repeat(2));
    }
}
