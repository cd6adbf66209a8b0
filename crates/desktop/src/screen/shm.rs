//! Pages shared with the X server, and a pool of them.
//!
//! A segment is an anonymous memory file whose descriptor is handed to the server (MIT-SHM 1.2). Unlike a System V
//! segment it has no name and no life of its own: when both sides are gone, so is it, however we ended.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use x11rb::connection::{Connection, RequestConnection as _};
use x11rb::protocol::shm::{self, ConnectionExt as _, Seg};
use x11rb::rust_connection::RustConnection;

/// A capture is read by one encoder and perhaps OCR: more segments than this are not kept.
const KEPT: usize = 3;
/// Pages that nobody needed for so long go back to the system.
const IDLE: Duration = Duration::from_secs(5);

/// One mapping, known to the server as `seg`.
struct Segment {
    seg: Seg,
    start: *mut u8,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone until it is dropped; who holds the `Lease` reads, and only
// `Pool::fill`, which owns it, has the server write.
unsafe impl Send for Segment {}
// SAFETY: shared access is reading only, see above.
unsafe impl Sync for Segment {}

impl Segment {
    fn new(conn: &RustConnection, len: usize) -> Option<Self> {
        let file = rustix::fs::memfd_create("deskhand-screen", rustix::fs::MemfdFlags::CLOEXEC).ok()?;
        rustix::fs::ftruncate(&file, len as u64).ok()?;
        let start = map(&file, len)?;
        let segment = Self { seg: conn.generate_id().ok()?, start, len };
        conn.shm_attach_fd(segment.seg, file, false).ok()?.check().ok()?;
        Some(segment)
    }
}

/// Maps the whole file, readable and writable.
fn map(file: &OwnedFd, len: usize) -> Option<*mut u8> {
    use std::os::fd::AsRawFd as _;
    // SAFETY: a new mapping at an address of the kernel's choice, of a file that has `len` bytes.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    (start != libc::MAP_FAILED).then_some(start.cast())
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: `start` and `len` are those of the mapping made in `new`; nobody has a reference into it any more,
        // for a `Lease` owns its segment.
        unsafe {
            libc::munmap(self.start.cast(), self.len);
        }
    }
}

/// Segments in store, for one connection.
pub(super) struct Pool {
    conn: Arc<RustConnection>,
    /// With the time at which each was last used.
    free: Mutex<Vec<(Segment, Instant)>>,
}

impl Pool {
    /// A pool, or `None` when this server cannot share memory with us (a remote one, or one without MIT-SHM 1.2).
    pub(super) fn new(conn: &Arc<RustConnection>) -> Option<Arc<Self>> {
        conn.extension_information(shm::X11_EXTENSION_NAME).ok()??;
        let version = conn.shm_query_version().ok()?.reply().ok()?;
        let pool = Arc::new(Self { conn: Arc::clone(conn), free: Mutex::default() });
        ((version.major_version, version.minor_version) >= (1, 2)).then_some(())?;
        // Over a forwarded socket the version is right and attaching fails: only trying tells.
        let probe = Segment::new(conn, 4096)?;
        pool.give_back(probe);
        Some(pool)
    }

    /// A segment of at least `len` bytes whose content nobody else changes.
    pub(super) fn lease(self: &Arc<Self>, len: usize) -> Option<Lease> {
        let kept = {
            let mut free = self.free.lock();
            let found = free.iter().position(|(s, _)| s.len >= len && s.len / 4 <= len);
            found.map(|i| free.swap_remove(i).0)
        };
        let segment = match kept {
            Some(segment) => segment,
            None => Segment::new(&self.conn, len.next_multiple_of(1 << 16))?,
        };
        Some(Lease { segment: Some(segment), len, pool: Arc::clone(self) })
    }

    fn give_back(&self, segment: Segment) {
        let surplus = {
            let mut free = self.free.lock();
            free.push((segment, Instant::now()));
            (free.len() > KEPT).then(|| free.remove(0))
        };
        self.detach(surplus);
    }

    /// Gives back what has been idle for a while: a large screen's pages are most of an idle worker's memory.
    pub(super) fn trim(&self) {
        let idle: Vec<_> = self.free.lock().extract_if(.., |(_, used)| used.elapsed() > IDLE).collect();
        self.detach(idle);
    }

    fn detach(&self, segments: impl IntoIterator<Item = (Segment, Instant)>) {
        for (segment, _) in segments {
            // The server unmaps its side; a lost connection has done so already.
            let _ = self.conn.shm_detach(segment.seg);
            let _ = self.conn.flush();
        }
    }
}

/// A segment in use; it goes back to its pool when dropped.
pub(super) struct Lease {
    segment: Option<Segment>,
    len: usize,
    pool: Arc<Pool>,
}

impl Lease {
    /// The server's name for it.
    pub(super) fn seg(&self) -> Seg {
        self.segment.as_ref().map_or(0, |s| s.seg)
    }

    /// What the server wrote.
    pub(super) fn bytes(&self) -> &[u8] {
        let Some(segment) = &self.segment else { return &[] };
        // SAFETY: the mapping is at least `len` long and lives as long as `self`; the server writes to it only in
        // answer to a request, and the one request of a lease was answered before it was given out as a picture.
        unsafe { std::slice::from_raw_parts(segment.start, self.len) }
    }

    /// The same, to paint over.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        let Some(segment) = &mut self.segment else { return &mut [] };
        // SAFETY: as in `bytes`; `self` is borrowed alone, so nobody reads meanwhile.
        unsafe { std::slice::from_raw_parts_mut(segment.start, self.len) }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(segment) = self.segment.take() {
            self.pool.give_back(segment);
        }
    }
}
