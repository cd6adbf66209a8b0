//! A witness of pixels and clicks: bare X11 windows that show exactly the colours a test paints, and report the presses
//! that reach them. It also sets up what a display can be: monitors, a scale, a locker.

use std::time::{Duration, Instant};

use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::randr::{ConnectionExt as _, MonitorInfo};
use x11rb::protocol::xproto::{
    AtomEnum, ChangeGCAux, ConfigureWindowAux, ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, Gcontext, GrabMode, GrabStatus,
    InputFocus, PropMode, Rectangle, StackMode, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

const PATIENCE: Duration = Duration::from_secs(20);

/// Red, green, blue.
pub type Colour = [u8; 3];

/// What a window is like.
#[derive(Clone)]
pub struct Look {
    /// x, y, width, height.
    pub rect: [i32; 4],
    /// Not managed by a window manager, so it lies exactly there, on top.
    pub free: bool,
    pub title: &'static str,
    pub class: &'static str,
    pub ground: Colour,
}

impl Default for Look {
    fn default() -> Self {
        Self { rect: [0, 0, 200, 100], free: true, title: "painter", class: "painter", ground: [240, 240, 240] }
    }
}

/// A connection that paints.
pub struct Painter {
    conn: RustConnection,
    root: Window,
    depth: u8,
    masks: [u32; 3],
    gc: Gcontext,
}

impl Painter {
    pub fn open(display: &str) -> Self {
        let (conn, number) = RustConnection::connect(Some(display)).unwrap();
        let screen = conn.setup().roots[number].clone();
        let visual = screen.allowed_depths.iter().flat_map(|d| &d.visuals).find(|v| v.visual_id == screen.root_visual).unwrap();
        let masks = [visual.red_mask, visual.green_mask, visual.blue_mask];
        let gc = conn.generate_id().unwrap();
        conn.create_gc(gc, screen.root, &CreateGCAux::new()).unwrap();
        Self { root: screen.root, depth: screen.root_depth, masks, gc, conn }
    }

    fn pixel(&self, colour: Colour) -> u32 {
        let part = |(level, mask): (u8, u32)| {
            let top = mask >> mask.trailing_zeros();
            ((u64::from(level) * u64::from(top) + 127) / 255) as u32 * (mask & mask.wrapping_neg())
        };
        colour.into_iter().zip(self.masks).map(part).sum()
    }

    /// Shows a window and waits until it is there.
    pub fn window(&self, look: &Look) -> Window {
        let id = self.conn.generate_id().unwrap();
        let [x, y, width, height] = look.rect;
        let events = EventMask::EXPOSURE | EventMask::BUTTON_PRESS | EventMask::KEY_PRESS | EventMask::STRUCTURE_NOTIFY;
        let aux =
            CreateWindowAux::new().background_pixel(self.pixel(look.ground)).event_mask(events).override_redirect(u32::from(look.free));
        self.conn
            .create_window(
                self.depth,
                id,
                self.root,
                x as i16,
                y as i16,
                width as u16,
                height as u16,
                0,
                WindowClass::INPUT_OUTPUT,
                0,
                &aux,
            )
            .unwrap();
        self.title(id, look.title);
        let class = format!("{0}\0{0}\0", look.class);
        self.conn.change_property8(PropMode::REPLACE, id, AtomEnum::WM_CLASS, AtomEnum::STRING, class.as_bytes()).unwrap();
        self.conn.map_window(id).unwrap();
        self.conn.flush().unwrap();
        self.until("the window is shown", |e| matches!(e, Event::MapNotify(e) if e.window == id));
        id
    }

    pub fn title(&self, id: Window, title: &str) {
        let name = self.atom("_NET_WM_NAME");
        self.conn.change_property8(PropMode::REPLACE, id, name, self.atom("UTF8_STRING"), title.as_bytes()).unwrap();
        self.conn.flush().unwrap();
    }

    pub fn fill(&self, id: Window, [x, y, width, height]: [i32; 4], colour: Colour) {
        self.conn.change_gc(self.gc, &ChangeGCAux::new().foreground(self.pixel(colour))).unwrap();
        let rect = Rectangle { x: x as i16, y: y as i16, width: width as u16, height: height as u16 };
        self.conn.poly_fill_rectangle(id, self.gc, &[rect]).unwrap();
        self.conn.sync().unwrap();
    }

    /// Rows of random colours: nothing compresses it.
    pub fn noise(&self, id: Window, width: u16, height: u16) {
        let mut state = 1_u32;
        for y in (0..height).step_by(16) {
            let rows = 16.min(height - y);
            let mut bytes = Vec::with_capacity(usize::from(width) * usize::from(rows) * 4);
            for _ in 0..u32::from(width) * u32::from(rows) {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                bytes.extend_from_slice(&(state >> 8).to_le_bytes());
            }
            let format = x11rb::protocol::xproto::ImageFormat::Z_PIXMAP;
            self.conn.put_image(format, id, self.gc, width, rows, 0, y as i16, 0, self.depth, &bytes).unwrap();
        }
        self.conn.sync().unwrap();
    }

    /// Puts it under all others.
    pub fn lower(&self, id: Window) {
        self.conn.configure_window(id, &ConfigureWindowAux::new().stack_mode(StackMode::BELOW)).unwrap();
        self.conn.sync().unwrap();
    }

    pub fn focus(&self, id: Window) {
        self.conn.set_input_focus(InputFocus::PARENT, id, x11rb::CURRENT_TIME).unwrap();
        self.conn.sync().unwrap();
    }

    /// Does what a locker does once its window is up.
    pub fn grab_keyboard(&self, id: Window) {
        let end = Instant::now() + PATIENCE;
        loop {
            let grab = self.conn.grab_keyboard(true, id, x11rb::CURRENT_TIME, GrabMode::ASYNC, GrabMode::ASYNC).unwrap();
            if grab.reply().unwrap().status == GrabStatus::SUCCESS {
                return;
            }
            assert!(Instant::now() < end, "the keyboard could not be grabbed");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn destroy(&self, id: Window) {
        self.conn.destroy_window(id).unwrap();
        self.conn.sync().unwrap();
    }

    /// Where the next press reached `id`: button, and place on the screen.
    pub fn press(&self, id: Window) -> Option<(u8, i32, i32)> {
        let event = self.wait(Duration::from_secs(3), |e| matches!(e, Event::ButtonPress(e) if e.event == id));
        event.map(|e| if let Event::ButtonPress(e) = e { (e.detail, e.root_x.into(), e.root_y.into()) } else { (0, 0, 0) })
    }

    /// How many keys have reached our windows since the last question.
    pub fn keys(&self) -> usize {
        self.conn.sync().unwrap();
        std::iter::from_fn(|| self.conn.poll_for_event().unwrap()).filter(|e| matches!(e, Event::KeyPress(_))).count()
    }

    pub fn pointer(&self) -> (i32, i32) {
        let at = self.conn.query_pointer(self.root).unwrap().reply().unwrap();
        (at.root_x.into(), at.root_y.into())
    }

    /// Divides the screen into monitors; the one of number `primary` is the main one.
    pub fn monitors(&self, rects: &[[i32; 4]], primary: usize) {
        let screen = self.conn.randr_get_screen_resources_current(self.root).unwrap().reply().unwrap();
        for (i, [x, y, width, height]) in rects.iter().enumerate() {
            let monitor = MonitorInfo {
                name: self.atom(&format!("PART-{i}")),
                primary: i == primary,
                automatic: false,
                x: *x as i16,
                y: *y as i16,
                width: *width as u16,
                height: *height as u16,
                width_in_millimeters: *width as u32 / 4,
                height_in_millimeters: *height as u32 / 4,
                outputs: if i == 0 { screen.outputs.clone() } else { Vec::new() },
            };
            self.conn.randr_set_monitor(self.root, monitor).unwrap().check().unwrap();
        }
    }

    /// What a session at this scale leaves in the resources.
    pub fn scale(&self, scale: f64) {
        let resources = format!("Xft.dpi:\t{}\n", (96.0 * scale).round());
        let changed =
            self.conn.change_property8(PropMode::REPLACE, self.root, AtomEnum::RESOURCE_MANAGER, AtomEnum::STRING, resources.as_bytes());
        changed.unwrap().check().unwrap();
    }

    fn atom(&self, name: &str) -> u32 {
        self.conn.intern_atom(false, name.as_bytes()).unwrap().reply().unwrap().atom
    }

    fn until(&self, what: &str, is: impl Fn(&Event) -> bool) {
        assert!(self.wait(PATIENCE, is).is_some(), "{what}: not within {} s", PATIENCE.as_secs());
    }

    fn wait(&self, patience: Duration, is: impl Fn(&Event) -> bool) -> Option<Event> {
        let end = Instant::now() + patience;
        loop {
            self.conn.sync().unwrap();
            while let Some(event) = self.conn.poll_for_event().unwrap() {
                if is(&event) {
                    return Some(event);
                }
            }
            if Instant::now() > end {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
