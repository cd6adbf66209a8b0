//! What the tray and `deskhand gateway status` show.

use serde::{Deserialize, Serialize};

/// One socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SocketState {
    /// Not wanted: nobody is signed in, or AI control is not authorised.
    #[default]
    Off,
    /// Trying; the last failure is in [`Status::last_error`].
    Connecting {
        /// Tries since the last connection.
        tries: u32,
    },
    /// Connected since then (Unix milliseconds).
    Connected {
        /// Unix milliseconds.
        since_ms: i64,
    },
    /// Another Deskhand signed in as the same user took this one's place; it stays off until the person connects again.
    Replaced,
}

/// The executor's state, in plain words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Address of the gateway, if signed in.
    pub server: Option<String>,
    /// The user there.
    pub user: Option<String>,
    /// Whether AI control is authorised, without which nothing connects.
    pub authorised: bool,
    /// The socket of `computer_*`.
    pub computer: SocketState,
    /// The socket of `browser_*`.
    pub browser: SocketState,
    /// The last thing that went wrong, for the person; gone after a success.
    pub last_error: Option<String>,
}

impl Status {
    /// One sentence for a person.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Some(server) = &self.server else {
            return self.last_error.clone().unwrap_or_else(|| "Not signed in to a gateway.".to_owned());
        };
        let user = self.user.as_deref().unwrap_or("?");
        let state = match (&self.computer, &self.browser) {
            (SocketState::Connected { .. }, SocketState::Connected { .. }) => "connected",
            (SocketState::Replaced, _) | (_, SocketState::Replaced) => {
                "replaced by another Deskhand that signed in as the same user; choose Connect to take its place"
            }
            (SocketState::Connected { .. }, _) | (_, SocketState::Connected { .. }) => "partly connected",
            (SocketState::Connecting { .. }, _) | (_, SocketState::Connecting { .. }) => "connecting",
            _ if !self.authorised => "not connected, because AI control is not authorised",
            _ => "not connected",
        };
        let error = self.last_error.as_ref().map(|error| format!(" Last error: {error}")).unwrap_or_default();
        format!("Signed in to {server} as {user}: {state}.{error}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_say_what_to_do() {
        let mut status = Status::default();
        assert_eq!(status.sentence(), "Not signed in to a gateway.");
        status.server = Some("https://x".into());
        status.user = Some("ana".into());
        assert!(status.sentence().contains("not authorised"));
        status.computer = SocketState::Replaced;
        assert!(status.sentence().contains("choose Connect"));
    }
}
