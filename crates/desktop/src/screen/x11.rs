//! The X11 server: one connection held open, pictures by shared memory.
//!
//! The connection is ours alone: input has another, so that a long picture never delays a key. Everything that changes
//! while we run (the size of the root window, monitors, the scale in the resources) is asked anew each time.

use std::sync::Arc;

use x11rb::connection::{Connection, RequestConnection as _};
use x11rb::errors::ReplyError;
use x11rb::protocol::randr::{self, ConnectionExt as _};
use x11rb::protocol::shm::ConnectionExt as _;
use x11rb::protocol::xproto::{self, AtomEnum, ConnectionExt as _, ImageFormat, ImageOrder, Window};
use x11rb::rust_connection::RustConnection;

use super::capture::{Capture, Store};
use super::monitors::{Monitor, Screen};
use super::pixels::Layout;
use super::shm::Pool;
use super::{Order, Rect};
use crate::{Error, Result, own};

x11rb::atom_manager! {
    /// Names the server knows by number.
    pub(crate) Atoms: AtomsCookie {
        _NET_ACTIVE_WINDOW,
        _NET_CLIENT_LIST_STACKING,
        _NET_FRAME_EXTENTS,
        _NET_WM_NAME,
        _NET_WM_PID,
        _GTK_FRAME_EXTENTS,
        WM_STATE,
        UTF8_STRING,
        COMPOUND_TEXT,
    }
}

/// What is not available when there is no server, or no longer.
pub(crate) const LOST: &str = "the display";

/// A connection and what does not change while it lives.
pub(crate) struct X11 {
    pub(crate) conn: Arc<RustConnection>,
    pub(crate) root: Window,
    pub(crate) atoms: Atoms,
    /// The server only shows the windows of old clients inside a Wayland session: its root is black by design.
    pub(crate) is_xwayland: bool,
    /// A window that is never shown, to ask things on.
    pub(crate) hidden: Window,
    depth: u8,
    layout: Layout,
    pool: Option<Arc<Pool>>,
    randr: bool,
}

/// Turns a lost connection or an X error into our own.
pub(crate) fn refused(error: impl Into<ReplyError>) -> Error {
    match error.into() {
        ReplyError::ConnectionError(e) => lost(e),
        ReplyError::X11Error(e) => {
            Error::failed("the request to the X server", format!("{:?} ({})", e.error_kind, e.request_name.unwrap_or("?")))
        }
    }
}

/// The server went away, or never was there.
pub(crate) fn lost(reason: impl std::fmt::Display) -> Error {
    Error::Unavailable {
        what: LOST,
        reason: format!("the connection to the X server is lost ({reason})"),
        remedy: "see that the X server of DISPLAY runs, then call again".into(),
    }
}

impl X11 {
    /// Connects to `name`, or to what DISPLAY names.
    pub(crate) fn open(name: Option<&str>) -> Result<Self> {
        let shown = name.map_or_else(|| std::env::var("DISPLAY").unwrap_or_default(), str::to_owned);
        if shown.is_empty() {
            return Err(Error::Unavailable {
                what: LOST,
                reason: "DISPLAY is not set, so there is no X server to ask".into(),
                remedy: "start the worker inside a desktop session, or with --display :N or --virtual-display 1920x1080".into(),
            });
        }
        let (conn, number) = RustConnection::connect(Some(&shown)).map_err(|e| Error::Unavailable {
            what: LOST,
            reason: format!("no X server answers at DISPLAY={shown} ({e})"),
            remedy: "check DISPLAY and XAUTHORITY, or start the worker with --virtual-display 1920x1080".into(),
        })?;
        Self::on(Arc::new(conn), number)
    }

    fn on(conn: Arc<RustConnection>, number: usize) -> Result<Self> {
        let setup = conn.setup();
        let screen = setup.roots.get(number).ok_or_else(|| lost("it has no such screen"))?;
        let (root, depth) = (screen.root, screen.root_depth);
        let visuals = screen.allowed_depths.iter().flat_map(|d| &d.visuals);
        let visual = visuals.into_iter().find(|v| v.visual_id == screen.root_visual);
        let format = setup.pixmap_formats.iter().find(|f| f.depth == depth);
        let layout = Layout {
            bits: format.map_or(0, |f| f.bits_per_pixel),
            pad: format.map_or(32, |f| f.scanline_pad.max(8)),
            big_endian: setup.image_byte_order == ImageOrder::MSB_FIRST,
            masks: visual.map_or([0; 3], |v| [v.red_mask, v.green_mask, v.blue_mask]),
        };
        let atoms = Atoms::new(&*conn).map_err(lost)?.reply().map_err(refused)?;
        let is_xwayland = conn.query_extension(b"XWAYLAND").map_err(lost)?.reply().map_err(refused)?.present;
        let randr = conn.extension_information(randr::X11_EXTENSION_NAME).map_err(lost)?.is_some()
            && conn.randr_query_version(1, 5).map_err(lost)?.reply().is_ok_and(|v| (v.major_version, v.minor_version) >= (1, 5));
        let pool = Pool::new(&conn);
        let hidden = conn.generate_id().map_err(lost)?;
        let nothing = xproto::CreateWindowAux::new().override_redirect(1);
        let made = conn.create_window(0, hidden, root, -1, -1, 1, 1, 0, xproto::WindowClass::INPUT_ONLY, 0, &nothing);
        made.map_err(lost)?.check().map_err(refused)?;
        Ok(Self { conn, root, atoms, is_xwayland, hidden, depth, layout, pool, randr })
    }

    /// Width and height of the root window now.
    pub(crate) fn size(&self) -> Result<(u32, u32)> {
        let root = self.conn.get_geometry(self.root).map_err(lost)?.reply().map_err(refused)?;
        Ok((root.width.into(), root.height.into()))
    }

    /// What there is to see on.
    pub(crate) fn screen(&self) -> Result<Screen> {
        let (width, height) = self.size()?;
        let scale = self.scale();
        let mut monitors = self.monitors(scale)?;
        if monitors.is_empty() {
            let rect = Rect::new(0, 0, width, height);
            monitors.push(Monitor { name: "screen".into(), rect, scale, primary: true, rotation: 0 });
        }
        if !monitors.iter().any(|m| m.primary) {
            monitors[0].primary = true;
        }
        Ok(Screen { width, height, scale, monitors })
    }

    fn monitors(&self, scale: f64) -> Result<Vec<Monitor>> {
        if !self.randr {
            return Ok(Vec::new());
        }
        let listed = self.conn.randr_get_monitors(self.root, true).map_err(lost)?.reply().map_err(refused)?;
        let names: Vec<_> = listed.monitors.iter().map(|m| self.conn.get_atom_name(m.name)).collect();
        let mut monitors = Vec::with_capacity(listed.monitors.len());
        for (monitor, name) in listed.monitors.iter().zip(names) {
            let name = name.ok().and_then(|c| c.reply().ok()).map(|r| String::from_utf8_lossy(&r.name).into_owned());
            monitors.push(Monitor {
                name: name.unwrap_or_default(),
                rect: Rect::new(monitor.x.into(), monitor.y.into(), monitor.width.into(), monitor.height.into()),
                scale,
                primary: monitor.primary,
                rotation: monitor.outputs.first().and_then(|o| self.rotation(*o)).unwrap_or(0),
            });
        }
        Ok(monitors)
    }

    /// Degrees an output is turned by. Its rectangle is already the turned one.
    fn rotation(&self, output: randr::Output) -> Option<u16> {
        let info = self.conn.randr_get_output_info(output, 0).ok()?.reply().ok()?;
        let crtc = self.conn.randr_get_crtc_info(info.crtc, 0).ok()?.reply().ok()?;
        let turned = |r: randr::Rotation| crtc.rotation.contains(r);
        Some(match () {
            () if turned(randr::Rotation::ROTATE90) => 90,
            () if turned(randr::Rotation::ROTATE180) => 180,
            () if turned(randr::Rotation::ROTATE270) => 270,
            () => 0,
        })
    }

    /// How large the session asks things to be drawn: `Xft.dpi` of the resources, else what the toolkits are told.
    pub(crate) fn scale(&self) -> f64 {
        let reply = self.conn.get_property(false, self.root, AtomEnum::RESOURCE_MANAGER, AtomEnum::STRING, 0, 1 << 16);
        let resources = reply.ok().and_then(|c| c.reply().ok()).map(|p| p.value).unwrap_or_default();
        super::monitors::scale_of(&String::from_utf8_lossy(&resources), |name| std::env::var(name).ok())
    }

    /// Frees the memory of pictures when none has been taken for a while.
    pub(super) fn trim(&self) {
        if let Some(pool) = &self.pool {
            pool.trim();
        }
    }

    /// Takes a picture of `rect`, cut at the edge of the screen.
    pub(crate) fn capture(&self, rect: Option<Rect>) -> Result<Capture> {
        if !self.layout.is_known() {
            return Err(self.unknown_depth());
        }
        // Between asking for the size and taking the picture the screen may shrink: once more then.
        for last in [false, true] {
            let size = self.size()?;
            let whole = Rect::new(0, 0, size.0, size.1);
            let wanted = rect.unwrap_or(whole);
            let part = wanted.intersection(&whole).ok_or_else(|| {
                Error::Invalid(format!(
                    "the region {wanted} lies outside the screen of {}x{}; give x,y,width,height inside it",
                    size.0, size.1
                ))
            })?;
            let _cleared = own::clear(&part, true)?;
            match self.pixels(part) {
                Err(Error::Failed { .. }) if !last && self.size()? != size => {}
                Err(e) => return Err(e),
                Ok(capture) => {
                    let own = if own::any() { own::grey(&self.conn, self.root, &part)? } else { Vec::new() };
                    let mut capture = capture.placed((part.x, part.y), size, self.scale());
                    own.into_iter().for_each(|rect| capture.grey(rect));
                    return Ok(capture);
                }
            }
        }
        Err(lost("the screen changes too fast"))
    }

    fn pixels(&self, part: Rect) -> Result<Capture> {
        let (x, y) = (part.x as i16, part.y as i16);
        let (width, height) = (part.width as u16, part.height as u16);
        let stride = self.layout.stride(part.width);
        let leased = self.pool.as_ref().and_then(|p| p.lease(stride * part.height as usize));
        let Some(lease) = leased else {
            return self.pixels_by_wire(part, (x, y, width, height));
        };
        let format = ImageFormat::Z_PIXMAP.into();
        let cookie = self.conn.shm_get_image(self.root, x, y, width, height, !0, format, lease.seg(), 0);
        cookie.map_err(lost)?.reply().map_err(refused)?;
        let size = (part.width, part.height);
        Ok(if self.layout.is_bgrx() {
            Capture::new(Store::Shared(lease), size, stride, Order::Bgrx)
        } else {
            self.repacked(lease.bytes(), size)
        })
    }

    /// Without shared memory the picture comes down the socket.
    fn pixels_by_wire(&self, part: Rect, (x, y, width, height): (i16, i16, u16, u16)) -> Result<Capture> {
        let cookie = xproto::get_image(&*self.conn, ImageFormat::Z_PIXMAP, self.root, x, y, width, height, !0);
        let data = cookie.map_err(lost)?.reply().map_err(refused)?.data;
        let size = (part.width, part.height);
        let stride = self.layout.stride(part.width);
        if self.layout.is_bgrx() && data.len() >= stride * part.height as usize {
            return Ok(Capture::new(Store::Owned(data), size, stride, Order::Bgrx));
        }
        Ok(self.repacked(&data, size))
    }

    fn repacked(&self, data: &[u8], size: (u32, u32)) -> Capture {
        let pixels = self.layout.to_bgrx(data, size.0, size.1);
        Capture::new(Store::Owned(pixels), size, size.0 as usize * 4, Order::Bgrx)
    }

    fn unknown_depth(&self) -> Error {
        Error::Unavailable {
            what: "the picture of the screen",
            reason: format!("its depth of {} bits in {} bits a pixel has no known colour masks", self.depth, self.layout.bits),
            remedy: "run the display with a TrueColor visual of depth 16, 24 or 30".into(),
        }
    }
}
