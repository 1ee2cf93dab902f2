//! Encryption of connections.

use std::sync::Arc;

use dflat_engine::{Error, ErrorKind, Result};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Whether a connection by this configuration may be encrypted: over a network, unless the address
/// says `sslmode=disable`.
pub(super) fn is_possible(config: &Config) -> bool {
    config.get_ssl_mode() != SslMode::Disable
}

/// Whether all hosts of this configuration are on this machine, where nothing is encrypted.
pub(super) fn is_local(config: &Config) -> bool {
    let is_local = |host: &Host| !matches!(host, Host::Tcp(_));
    config.get_hosts().iter().all(is_local) && config.get_hostaddrs().is_empty()
}

/// Makes encrypted connections to servers whose certificates these authorities have signed: those
/// of the system if there are none.
pub(super) fn connector(authorities: Option<&[u8]>) -> Result<MakeRustlsConnect> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let added = certificate
                    .map_err(invalid)
                    .and_then(|certificate| roots.add(certificate).map_err(invalid));
                added?;
            }
        }
        None => {
            // A certificate that cannot be read is missing; a server that needs it is refused.
            let system = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(system.certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(invalid)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let message = "cannot connect to the server: the certificates of the authorities are invalid";
    Error::with_source(ErrorKind::InvalidArgument, message, error)
}
