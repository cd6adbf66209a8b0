//! What the desktop's services say of the lock: screen savers on the session bus, logind on the system bus.
//!
//! Services are only listened to and asked when they already run; asking must not start one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt as _;
use zbus::message::Type;
use zbus::{Connection, MatchRule, MessageStream, OwnedObjectPath, OwnedVariant};

use super::Services;

/// Name (also of the interface) and object of every screen saver service in use.
const SAVERS: [(&str, &str); 5] = [
    ("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"),
    ("org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"),
    ("org.cinnamon.ScreenSaver", "/org/cinnamon/ScreenSaver"),
    ("org.mate.ScreenSaver", "/org/mate/ScreenSaver"),
    ("org.xfce.ScreenSaver", "/org/xfce/ScreenSaver"),
];
const LOGIND: &str = "org.freedesktop.login1";
const LOGIND_SESSION: &str = "org.freedesktop.login1.Session";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// Two voices; either can say locked.
#[derive(Default)]
struct Voices {
    saver: AtomicBool,
    logind: AtomicBool,
}

impl Voices {
    fn tell(&self, services: &Services) {
        let locked = self.saver.load(Ordering::Acquire) || self.logind.load(Ordering::Acquire);
        services.locked.store(locked, Ordering::Release);
    }
}

/// Listens for ever. `own`: the display is that of the login session, so logind speaks of it.
pub(super) async fn listen(services: Arc<Services>, own: bool) {
    let voices = Voices::default();
    // Without an address the library would start a bus, or guess one that belongs to another session.
    let session = match std::env::var_os("DBUS_SESSION_BUS_ADDRESS") {
        Some(_) => savers().await.inspect_err(|e| tracing::debug!(error = %e, "no session bus")).ok(),
        None => None,
    };
    let system = match own {
        true => logind().await.inspect_err(|e| tracing::debug!(error = %e, "logind does not tell of this session")).ok(),
        false => None,
    };
    let (mut savers, saver) = session.unzip();
    let (mut sessions, logind) = system.unzip();
    voices.saver.store(saver == Some(true), Ordering::Release);
    voices.logind.store(logind == Some(true), Ordering::Release);
    voices.tell(&services);
    services.answered.store(true, Ordering::Release);
    loop {
        tokio::select! {
            Some(locked) = next(&mut savers, active_changed) => voices.saver.store(locked, Ordering::Release),
            Some(locked) = next(&mut sessions, hint_changed) => voices.logind.store(locked, Ordering::Release),
            else => return,
        }
        voices.tell(&services);
    }
}

/// The next message that says something; `None` when the stream is over or was never there.
async fn next(stream: &mut Option<MessageStream>, read: fn(&zbus::Message) -> Option<bool>) -> Option<bool> {
    let messages = stream.as_mut()?;
    while let Some(message) = messages.next().await {
        if let Some(locked) = message.ok().as_ref().and_then(read) {
            return Some(locked);
        }
    }
    *stream = None;
    None
}

async fn savers() -> zbus::Result<(MessageStream, bool)> {
    let bus = Connection::session().await?;
    let rule = MatchRule::builder().msg_type(Type::Signal).member("ActiveChanged").build()?;
    let stream = MessageStream::for_match_rule(rule, &bus, None).await?;
    let mut locked = false;
    for (name, path) in SAVERS {
        let there =
            bus.call_method(Some("org.freedesktop.DBus"), "/org/freedesktop/DBus", Some("org.freedesktop.DBus"), "NameHasOwner", &name);
        if there.await?.body().deserialize::<bool>()? {
            let answer = bus.call_method(Some(name), path, Some(name), "GetActive", &()).await;
            locked |= answer.ok().and_then(|a| a.body().deserialize::<bool>().ok()).unwrap_or(false);
        }
    }
    Ok((stream, locked))
}

fn active_changed(message: &zbus::Message) -> Option<bool> {
    let header = message.header();
    let interface = header.interface()?;
    SAVERS.iter().any(|(name, _)| interface == name).then(|| message.body().deserialize::<bool>().ok()).flatten()
}

async fn logind() -> zbus::Result<(MessageStream, bool)> {
    let bus = Connection::system().await?;
    let manager = "org.freedesktop.login1.Manager";
    let path = "/org/freedesktop/login1";
    let found = match std::env::var("XDG_SESSION_ID") {
        Ok(id) => bus.call_method(Some(LOGIND), path, Some(manager), "GetSession", &id).await?,
        Err(_) => bus.call_method(Some(LOGIND), path, Some(manager), "GetSessionByPID", &std::process::id()).await?,
    };
    let session: OwnedObjectPath = found.body().deserialize()?;
    let rule = MatchRule::builder().msg_type(Type::Signal).interface(PROPERTIES).member("PropertiesChanged");
    let stream = MessageStream::for_match_rule(rule.path(session.clone()).build()?, &bus, None).await?;
    let arguments = (LOGIND_SESSION, "LockedHint");
    let answer = bus.call_method(Some(LOGIND), session, Some(PROPERTIES), "Get", &arguments).await?;
    let hint: OwnedVariant = answer.body().deserialize()?;
    Ok((stream, bool::try_from(hint).unwrap_or(false)))
}

fn hint_changed(message: &zbus::Message) -> Option<bool> {
    type Changed = (String, std::collections::HashMap<String, OwnedVariant>, Vec<String>);
    let (interface, mut changed, _) = message.body().deserialize::<Changed>().ok()?;
    let hint = changed.remove("LockedHint").filter(|_| interface == LOGIND_SESSION)?;
    bool::try_from(hint).ok()
}
