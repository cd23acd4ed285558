//! The certificate of the address that serves metrics: mounted files, which are read again while
//! the program runs, or a self-signed one that is generated at the start, as by kubelet.

use crate::display::ErrorChain;
use rcgen::{CertificateParams, DnType, KeyPair};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{self, ServerConfig};

/// The interval at which mounted files are read: a Secret is replaced long before it expires.
const RELOAD_INTERVAL: Duration = Duration::from_secs(60);
/// The name in a certificate that this program makes. No client can verify it, by any name.
const NAME: &str = "usnet";

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No certificate could be generated.
    #[error("a certificate for metrics cannot be made")]
    Make(#[source] rcgen::Error),
    /// A mounted file is missing or is no PEM.
    #[error("{path} cannot be read: it has to be PEM, of --metrics-certificate or --metrics-key")]
    File { path: PathBuf, source: pem::Error },
    /// The files do not belong together, for example a certificate and the key of another one.
    #[error("certificate and key for metrics cannot be used")]
    Unusable(#[from] rustls::Error),
}

/// Files with a certificate, followed by those of its issuers, and with its key.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

#[derive(Debug)]
pub(super) struct Certificate {
    files: Option<Files>,
    current: Mutex<(Instant, Arc<ServerConfig>)>,
}

impl Certificate {
    /// Reads the certificate, or generates one if there are no files.
    pub(super) fn new(files: Option<Files>) -> Result<Self, Error> {
        let config = match &files {
            Some(files) => files.read()?,
            None => config(self_signed()?)?,
        };
        Ok(Self { files, current: Mutex::new((Instant::now(), config)) })
    }

    /// The configuration for the next connection. Files that cannot be read do not replace what was
    /// read before.
    pub(super) fn config(&self, now: Instant) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = &self.files
            && now.saturating_duration_since(current.0) >= RELOAD_INTERVAL
        {
            current.0 = now;
            match files.read() {
                Ok(config) => current.1 = config,
                Err(error) => {
                    tracing::warn!(error = %ErrorChain(&error), "serving metrics with the previous certificate");
                }
            }
        }
        Arc::clone(&current.1)
    }
}

type Pair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl Files {
    fn read(&self) -> Result<Arc<ServerConfig>, Error> {
        let failed = |path: &Path, source| Error::File { path: path.to_owned(), source };
        let certificates = CertificateDer::pem_file_iter(&self.certificate).and_then(Iterator::collect);
        let certificates = certificates.map_err(|source| failed(&self.certificate, source))?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|source| failed(&self.key, source))?;
        config((certificates, key))
    }
}

fn self_signed() -> Result<Pair, Error> {
    let mut params = CertificateParams::new(vec![NAME.to_owned()]).map_err(Error::Make)?;
    params.distinguished_name.push(DnType::CommonName, NAME);
    let key = KeyPair::generate().map_err(Error::Make)?;
    let certificate = params.self_signed(&key).map_err(Error::Make)?;
    Ok((vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into()))
}

fn config((certificates, key): Pair) -> Result<Arc<ServerConfig>, Error> {
    // The provider is named: two of the program's libraries may bring one each.
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A connection is one request: none is resumed.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(folder: &Path) -> Files {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![NAME.to_owned()]).unwrap().self_signed(&key).unwrap();
        let files = Files { certificate: folder.join("tls.crt"), key: folder.join("tls.key") };
        fs::write(&files.certificate, certificate.pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        files
    }

    #[test]
    fn files_that_were_replaced_are_read_again_and_damaged_ones_replace_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let files = write(folder.path());
        let certificate = Certificate::new(Some(files.clone())).unwrap();
        let start = Instant::now();
        let first = certificate.config(start);
        write(folder.path());
        assert!(Arc::ptr_eq(&first, &certificate.config(start)), "it is read for each connection");
        let second = certificate.config(start + RELOAD_INTERVAL * 2);
        assert!(!Arc::ptr_eq(&first, &second));
        fs::write(&files.key, "no key").unwrap();
        assert!(Arc::ptr_eq(&second, &certificate.config(start + RELOAD_INTERVAL * 4)));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (files, others) = (write(folder.path()), write(other.path()));
        let mixed = Files { key: others.key, ..files.clone() };
        assert!(matches!(Certificate::new(Some(mixed)), Err(Error::Unusable(_))));
        fs::remove_file(&files.key).unwrap();
        let error = Certificate::new(Some(files.clone())).unwrap_err().to_string();
        assert!(error.contains(files.key.to_str().unwrap()) && error.contains("--metrics-key"), "{error}");
        assert!(Certificate::new(None).is_ok());
    }
}
