//! Whether somebody shows tray icons. Where nobody does, the window is all there is of us.

use crate::shell::Shell;

/// Keeps the person's view up to date for as long as the app runs.
#[cfg(target_os = "linux")]
pub async fn watch(shell: Shell, first: tokio::sync::oneshot::Sender<bool>) {
    let mut first = Some(first);
    let mut told = |shown: bool| {
        shell.person().set_tray(shown);
        if let Some(first) = first.take() {
            let _ = first.send(shown);
        }
    };
    if let Err(error) = follow(&mut told).await {
        tracing::info!(%error, "no session bus: there is no tray");
        told(false);
    }
}

#[cfg(target_os = "linux")]
async fn follow(told: &mut impl FnMut(bool)) -> zbus::Result<()> {
    use std::time::Duration;
    const WATCHER: &str = "org.kde.StatusNotifierWatcher";
    let bus = zbus::Connection::session().await?;
    let ask = async || -> zbus::Result<bool> {
        const BUS: &str = "org.freedesktop.DBus";
        let there = bus.call_method(Some(BUS), "/org/freedesktop/DBus", Some(BUS), "NameHasOwner", &WATCHER).await?;
        if !there.body().deserialize::<bool>()? {
            return Ok(false);
        }
        let property = (WATCHER, "IsStatusNotifierHostRegistered");
        let answer =
            bus.call_method(Some(WATCHER), "/StatusNotifierWatcher", Some("org.freedesktop.DBus.Properties"), "Get", &property).await?;
        let shown: zbus::OwnedVariant = answer.body().deserialize()?;
        Ok(bool::try_from(shown).unwrap_or(false))
    };
    loop {
        told(ask().await.unwrap_or(false));
        // A tray comes and goes with the panel: seldom, and nobody waits for it.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

/// Other systems always have one.
#[cfg(not(target_os = "linux"))]
pub async fn watch(shell: Shell, first: tokio::sync::oneshot::Sender<bool>) {
    shell.person().set_tray(true);
    let _ = first.send(true);
}
