//! Who asks. Callers are told apart by the token they came with, never by what they say of themselves.

use std::fmt;

/// Through which door a caller came.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The main token of this worker.
    Main,
    /// A connected AI client with a token of its own (`STATE/clients/NAME`).
    Client(String),
    /// A gateway, and the user signed in there.
    Gateway {
        /// Host name of the gateway.
        server: String,
        /// The user of the gateway on whose behalf it asks.
        user: String,
    },
}

/// Who asks: an identity that the person can allow or refuse, and a conversation within it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// Whose token it is.
    pub origin: Origin,
    /// The conversation: an MCP session, an SSE stream, a stdio process. Two of them never share a current tab or frames.
    pub session: Option<String>,
    /// The program at the other end of the socket, where the system tells; shown in prompts, trusted for nothing.
    pub program: Option<String>,
}

impl Caller {
    /// A caller with the main token.
    #[must_use]
    pub fn main() -> Self {
        Self { origin: Origin::Main, session: None, program: None }
    }

    /// A connected client by name.
    #[must_use]
    pub fn client(name: &str) -> Self {
        Self { origin: Origin::Client(name.to_owned()), session: None, program: None }
    }

    /// A gateway's user.
    #[must_use]
    pub fn gateway(server: &str, user: &str) -> Self {
        Self { origin: Origin::Gateway { server: server.to_owned(), user: user.to_owned() }, session: None, program: None }
    }

    /// The same caller in the conversation `session`.
    #[must_use]
    pub fn in_session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// The same caller, with the program that the system says holds the other end.
    #[must_use]
    pub fn with_program(mut self, program: Option<String>) -> Self {
        self.program = program;
        self
    }

    /// The identity that grants, refusals and the audit log use, such as `main`, `client:cursor` or `gateway:ann@host`.
    #[must_use]
    pub fn id(&self) -> String {
        match &self.origin {
            Origin::Main => "main".to_owned(),
            Origin::Client(name) => format!("client:{name}"),
            Origin::Gateway { server, user } => format!("gateway:{user}@{server}"),
        }
    }

    /// The key of what belongs to one conversation: current tab, known frames, held input.
    #[must_use]
    pub fn scope(&self) -> String {
        match &self.session {
            Some(session) => format!("{}#{session}", self.id()),
            None => self.id(),
        }
    }

    /// Whether it came through a gateway, where a call is given up after 30 s.
    #[must_use]
    pub fn is_gateway(&self) -> bool {
        matches!(self.origin, Origin::Gateway { .. })
    }
}

impl fmt::Display for Caller {
    /// The name shown to the person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Main => f.write_str("a local program with the main token")?,
            Origin::Client(name) => f.write_str(name)?,
            Origin::Gateway { server, user } => write!(f, "{user} through {server}")?,
        }
        match &self.program {
            Some(program) => write!(f, " ({program})"),
            None => Ok(()),
        }
    }
}
