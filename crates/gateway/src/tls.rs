//! TLS: rustls with the ring provider, installed once for the whole process.

use std::path::Path;
use std::sync::{Arc, Once};
use std::time::Duration;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::{GatewayError, Result};

/// Makes ring the process's provider; calling it again does nothing.
pub(crate) fn install_provider() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that another part of the process installed one before: that one serves as well.
        let _already = rustls::crypto::ring::default_provider().install_default();
    });
}

/// The HTTP client for third-party servers and webhooks.
///
/// # Errors
/// `Tls` when the system's roots cannot be read.
pub(crate) fn client() -> Result<reqwest::Client> {
    install_provider();
    reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(10))
        // A redirect would carry configured keys to an address nobody configured.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("deskhand-gateway/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| GatewayError::Tls(error.to_string()))
}

/// The server's side from PEM files.
///
/// # Errors
/// `Tls` naming the file.
pub(crate) fn acceptor(cert: &Path, key: &Path) -> Result<tokio_rustls::TlsAcceptor> {
    install_provider();
    let wrong = |path: &Path, error: &dyn std::fmt::Display| GatewayError::Tls(format!("{}: {error}", path.display()));
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_file_iter(cert).and_then(Iterator::collect).map_err(|error| wrong(cert, &error))?;
    let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    let mut config =
        rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key_der).map_err(|error| wrong(cert, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(tokio_rustls::TlsAcceptor::from(Arc::new(config)))
}
