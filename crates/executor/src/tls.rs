//! TLS towards a gateway: rustls with ring, the system's roots, and a certificate authority of one's own by setting.

use std::path::Path;
use std::sync::{Arc, Once};
use std::time::Duration;

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use crate::error::{ExecutorError, Result};

/// Makes ring the process's provider; calling it again does nothing.
pub fn install_provider() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that another part of the process installed one before: that one serves as well.
        let _already = rustls::crypto::ring::default_provider().install_default();
    });
}

/// The certificates of a PEM file.
///
/// # Errors
/// [`ExecutorError::Tls`] naming the file.
pub fn read_ca(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let wrong = |why: &dyn std::fmt::Display| ExecutorError::Tls(format!("the CA file {} is not usable: {why}", path.display()));
    let found: Vec<_> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(|error| wrong(&error))?;
    if found.is_empty() {
        return Err(wrong(&"it holds no certificate in PEM form"));
    }
    Ok(found)
}

/// What trusts the system's roots and `ca`.
///
/// # Errors
/// [`ExecutorError::Tls`] when neither gives a single root.
pub(crate) fn config(ca: &[CertificateDer<'static>]) -> Result<Arc<rustls::ClientConfig>> {
    install_provider();
    let mut roots = rustls::RootCertStore::empty();
    let (_added, _ignored) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for certificate in ca {
        roots.add(certificate.clone()).map_err(|error| ExecutorError::Tls(format!("the CA file is not usable: {error}")))?;
    }
    if roots.is_empty() {
        tracing::warn!("this system has no root certificates: install ca-certificates, or name a CA file");
    }
    Ok(Arc::new(rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}

/// The HTTP client for signing in.
///
/// # Errors
/// [`ExecutorError::Tls`].
pub(crate) fn client(config: &Arc<rustls::ClientConfig>) -> Result<reqwest::Client> {
    reqwest::Client::builder()
        .tls_backend_preconfigured((**config).clone())
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(30))
        // A redirect would carry the password to an address the person did not name.
        .redirect(reqwest::redirect::Policy::none())
        .cookie_store(true)
        .user_agent(concat!("deskhand/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| ExecutorError::Tls(error.to_string()))
}
