//! The test bed's certificate authority, and the identities that it issues.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use serde_json::json;

use crate::testbed::addresses;

/// The file of the authority's private key.
const KEY: &str = "ca.key";

#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("cannot create the certificate of {subject}")]
    Generate {
        subject: String,
        #[source]
        source: rcgen::Error,
    },
    #[error("cannot read {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot write {path}")]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The subject of a certificate.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The user's name (CN).
    pub name: &'a str,
    /// The user's group (O).
    pub group: &'a str,
    /// The names and addresses at which the subject serves.
    pub serves_at: &'a [String],
}

/// The PEM files of one identity.
#[derive(Clone, Debug)]
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The certificate authority of a test bed, with its folder.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Creates an authority and the key pair of service account tokens in `folder`.
    pub fn create(folder: &Path) -> Result<Self, CertificateError> {
        fs::create_dir_all(folder).map_err(|source| CertificateError::Write { path: folder.to_owned(), source })?;
        let failed = |source| CertificateError::Generate { subject: "the authority".to_owned(), source };
        let params = parameters();
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?;
        let authority = Self { folder: folder.to_owned(), issuer: Issuer::new(params, key) };
        write(&authority.certificate(), &certificate.pem())?;
        write(&authority.key(), &authority.issuer.key().serialize_pem())?;
        let tokens = KeyPair::generate().map_err(failed)?;
        write(&authority.token_key(), &tokens.serialize_pem())?;
        write(&authority.token_public_key(), &tokens.public_key_pem())?;
        Ok(authority)
    }

    /// Opens the authority that [`Self::create`] left in `folder`.
    pub fn open(folder: &Path) -> Result<Self, CertificateError> {
        let path = folder.join(KEY);
        let text = fs::read_to_string(&path).map_err(|source| CertificateError::Read { path, source })?;
        let failed = |source| CertificateError::Generate { subject: "the authority".to_owned(), source };
        let key = KeyPair::from_pem(&text).map_err(failed)?;
        Ok(Self { folder: folder.to_owned(), issuer: Issuer::new(parameters(), key) })
    }

    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.folder.join(KEY)
    }

    /// Returns the private key that signs service account tokens.
    #[must_use]
    pub fn token_key(&self) -> PathBuf {
        self.folder.join("service-accounts.key")
    }

    /// Returns the public key that verifies service account tokens.
    #[must_use]
    pub fn token_public_key(&self) -> PathBuf {
        self.folder.join("service-accounts.pub")
    }

    /// Issues a certificate for a client, a server or both, in files that start with `file`.
    pub fn issue(&self, file: &str, subject: Subject<'_>) -> Result<Identity, CertificateError> {
        let failed = |source| CertificateError::Generate { subject: subject.name.to_owned(), source };
        let mut params = CertificateParams::new(subject.serves_at).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, subject.name);
        params.distinguished_name.push(DnType::OrganizationName, subject.group);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        let identity = Identity {
            certificate: self.folder.join(format!("{file}.crt")),
            key: self.folder.join(format!("{file}.key")),
        };
        write(&identity.certificate, &certificate.pem())?;
        write(&identity.key, &key.serialize_pem())?;
        Ok(identity)
    }

    /// Writes a kubeconfig for the test bed's API server and `identity` to `path`, as JSON, which
    /// is also YAML.
    pub fn write_kubeconfig(&self, path: &Path, identity: &Identity) -> Result<(), CertificateError> {
        let text = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "world", "cluster": {
                "server": format!("https://{}:443", addresses::CONTROL_PLANE),
                "certificate-authority": self.certificate(),
            }}],
            "users": [{"name": "user", "user": {
                "client-certificate": identity.certificate,
                "client-key": identity.key,
            }}],
            "contexts": [{"name": "world", "context": {"cluster": "world", "user": "user"}}],
            "current-context": "world",
        });
        write(path, &format!("{text:#}\n"))
    }

    /// Issues a client certificate, writes a kubeconfig with it into the authority's folder, and
    /// returns the path of the kubeconfig.
    pub fn client(&self, file: &str, name: &str, group: &str) -> Result<PathBuf, CertificateError> {
        let identity = self.issue(file, Subject { name, group, serves_at: &[] })?;
        let path = self.folder.join(format!("{file}.kubeconfig"));
        self.write_kubeconfig(&path, &identity)?;
        Ok(path)
    }
}

fn parameters() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "usnet test bed");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
}

fn write(path: &Path, text: &str) -> Result<(), CertificateError> {
    fs::write(path, text).map_err(|source| CertificateError::Write { path: path.to_owned(), source })
}
