//! Signing in: password to session cookie to token. The password is used once and kept nowhere.

use serde_json::Value;

use crate::address::Address;
use crate::error::{ExecutorError, Result};
use crate::secret::Token;
use crate::tls;

/// What a person types in.
pub struct Credentials {
    /// The gateway.
    pub address: Address,
    /// Their name there.
    pub user: String,
    /// Their password.
    pub password: String,
    /// Certificates trusted beside the system's.
    pub ca: Vec<rustls_pki_types::CertificateDer<'static>>,
    /// They were shown [`Address::warning`] and accepted it.
    pub plain_http_accepted: bool,
}

/// Signs in and returns the token.
///
/// # Errors
/// `PlainHttp` before anything is sent; `Refused` with the gateway's own words; `Unreachable`; `NotAGateway`.
pub(crate) async fn sign_in(credentials: Credentials) -> Result<Token> {
    let Credentials { address, user, password, ca, plain_http_accepted } = credentials;
    if let Some(warning) = address.warning().filter(|_| !plain_http_accepted) {
        return Err(ExecutorError::PlainHttp(warning));
    }
    let client = tls::client(&tls::config(&ca)?)?;
    let form = [("username", user.as_str()), ("password", password.as_str())];
    let answer = send(&address, client.post(address.join("api/login")).form(&form)).await?;
    if answer.get("success") != Some(&Value::Bool(true)) {
        return Err(refused(&answer));
    }
    let answer = send(&address, client.get(address.join("api/mcp/token"))).await?;
    if answer.get("success") != Some(&Value::Bool(true)) {
        return Err(refused(&answer));
    }
    let token = answer.get("token").and_then(Value::as_str).filter(|token| !token.is_empty());
    token.map(Token::new).ok_or_else(|| ExecutorError::NotAGateway { server: address.to_string(), why: "it gave no token".into() })
}

fn refused(answer: &Value) -> ExecutorError {
    let text = answer.get("error").and_then(Value::as_str).unwrap_or("it gave no reason");
    ExecutorError::Refused(text.chars().take(300).collect())
}

/// Sends a request and reads its JSON, whatever the status: refusals are JSON too.
async fn send(address: &Address, request: reqwest::RequestBuilder) -> Result<Value> {
    let unreachable = |error: reqwest::Error| ExecutorError::Unreachable { server: address.to_string(), why: chain(error.without_url()) };
    let response = request.send().await.map_err(unreachable)?;
    let status = response.status();
    let body = response.bytes().await.map_err(unreachable)?;
    match serde_json::from_slice::<Value>(&body) {
        Ok(answer) if answer.get("success").is_some_and(Value::is_boolean) => Ok(answer),
        _ if status.as_u16() == 429 => Err(ExecutorError::Refused("too many tries; wait some minutes".into())),
        _ => Err(ExecutorError::NotAGateway { server: address.to_string(), why: format!("HTTP {status} without the expected JSON") }),
    }
}

/// An error with its causes, without addresses.
pub(crate) fn chain(error: reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}
