//! Gives memory back between readings.
//!
//! A network takes and frees blocks of hundreds of kilobytes by the thousand. The C library first asks the system for each
//! such block, but then learns their size and keeps them on its heaps, where they are cut up: after a dozen screens twice
//! as much memory is held as was ever in use. A fixed limit makes it go on giving them back.

/// Blocks from this size on are the system's, in bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 128 << 10;

/// Sets the limit for this process; done once, when the first network is loaded.
pub(super) fn give_large_blocks_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            // SAFETY: mallopt takes two numbers and may be called at any time, from any thread; blocks in use stay valid.
            let _refused = unsafe { (libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE), libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE)) };
        });
    }
}
