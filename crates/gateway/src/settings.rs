//! What `deskhand gateway serve` can be told.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::error::{GatewayError, Result};

/// Where the gateway keeps its database, its key and its skills.
#[derive(Clone, Debug, clap::Args)]
pub struct Place {
    /// Folder of the server key, the default database and the skills.
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
    /// sqlite://PATH or postgres://USER@HOST/NAME; default: gateway.db in the state folder. A password belongs into
    /// PGPASSFILE, or the whole URL into the variable DESKHAND_GATEWAY_DATABASE: command lines can be read by others.
    /// PostgreSQL over TLS: ?sslmode=verify-full, with &sslrootcert=FILE for an own CA; without sslmode TLS is used when
    /// the server offers it, unchecked.
    #[arg(long, value_name = "URL", global = true)]
    pub database: Option<String>,
}

impl Place {
    /// The state folder.
    ///
    /// # Errors
    /// `Invalid` when none was given and the system names no data folder.
    pub fn folder(&self) -> Result<PathBuf> {
        if let Some(folder) = &self.state_dir {
            return Ok(folder.clone());
        }
        dirs::data_dir().map(|data| data.join("deskhand").join("gateway")).ok_or_else(|| {
            GatewayError::Invalid("there is no home folder to keep the gateway's state in; name one with --state-dir".into())
        })
    }

    /// The database's URL.
    ///
    /// # Errors
    /// As [`folder`](Self::folder).
    pub fn database_url(&self) -> Result<String> {
        let from_environment = || std::env::var("DESKHAND_GATEWAY_DATABASE").ok().filter(|url| !url.is_empty());
        match self.database.clone().or_else(from_environment) {
            Some(url) => Ok(url),
            None => Ok(format!("sqlite://{}", self.folder()?.join("gateway.db").display())),
        }
    }
}

/// The form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// Options of `serve`.
#[derive(Clone, Debug, clap::Args)]
pub struct Serve {
    /// Address to listen on.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:47900")]
    pub listen: SocketAddr,
    /// How clients reach this gateway, e.g. https://desk.example.org; default: from each request's Host header.
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// A proxy in front sets X-Forwarded-For: tries to sign in are counted by the client it names, not by the proxy.
    #[arg(long, requires = "public_url")]
    pub behind_proxy: bool,
    /// Certificate chain (PEM) to serve TLS with.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its private key (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Where cron entries are delivered: one POST of JSON each.
    #[arg(long, value_name = "URL")]
    pub cron_webhook: Option<String>,
    /// File with a secret; each delivery is signed with it (X-Deskhand-Signature: sha256=HMAC of the body).
    #[arg(long, value_name = "FILE")]
    pub cron_webhook_secret_file: Option<PathBuf>,
    /// Skills: DIR/shared/NAME/SKILL.md for all, DIR/users/USER/NAME/SKILL.md for one; default: skills in the state folder.
    #[arg(long, value_name = "DIR")]
    pub skills_dir: Option<PathBuf>,
    /// Executor sockets at once.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub max_executors: usize,
    /// TCP connections at once.
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    pub max_connections: usize,
    /// What the log on stderr looks like; json is one object a line. RUST_LOG chooses what is logged.
    #[arg(long, value_enum, default_value_t)]
    pub log_format: LogFormat,
    /// Print one JSON line on stdout when requests are accepted.
    #[arg(long)]
    pub ready_json: bool,
}

impl Serve {
    /// Checks what clap cannot.
    ///
    /// # Errors
    /// `Invalid` naming the option.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [("--public-url", &self.public_url), ("--cron-webhook", &self.cron_webhook)] {
            let Some(value) = value else { continue };
            let fine = url::Url::parse(value).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            if !fine {
                return Err(GatewayError::Invalid(format!("{name} must be an http:// or https:// address, not {value:?}")));
            }
        }
        Ok(())
    }
}
