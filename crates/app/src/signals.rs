//! The system's wish that a program ends, which command line and tray app hear in the same way.

/// Waits for SIGTERM, SIGINT or SIGHUP (Ctrl+C elsewhere).
pub async fn signalled() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let wait = |kind| async move {
            match signal(kind) {
                Ok(mut signals) => {
                    signals.recv().await;
                }
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = wait(SignalKind::terminate()) => {}
            () = wait(SignalKind::interrupt()) => {}
            () = wait(SignalKind::hangup()) => {}
        }
    }
    #[cfg(not(unix))]
    let _ = tokio::signal::ctrl_c().await;
}
