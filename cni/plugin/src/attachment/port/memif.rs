//! The socket and the secret of a memif.

use super::error::PortError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::path::{Component, Path, PathBuf};
use usnet_crds::{MemifSecretKind, MemifSocketKind};
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::memif::{MemifSecret, MemifSocket};

/// The number of random bytes of a secret. In base64 they are 23 characters, the most that a
/// memif's field of 24 bytes, which ends with a NUL, can have.
const SECRET_BYTES: usize = 17;

/// The socket of a memif: `file` in the pod's directory, or an abstract one in the pod's network
/// namespace.
pub(super) fn socket(
    kind: MemifSocketKind,
    file: impl FnOnce() -> PathBuf,
    attachment: &AttachmentId,
    network_namespace: &Path,
) -> Result<MemifSocket, PortError> {
    match kind {
        MemifSocketKind::Volume => Ok(MemifSocket::file(file())?),
        MemifSocketKind::Abstract => abstract_socket(attachment, network_namespace),
    }
}

/// The secret that the pod's program has to present, if the network requires one.
pub(super) fn secret(kind: MemifSecretKind) -> Result<Option<MemifSecret>, PortError> {
    match kind {
        MemifSecretKind::None => Ok(None),
        MemifSecretKind::Generated => generate_secret().map(Some),
    }
}

fn abstract_socket(attachment: &AttachmentId, network_namespace: &Path) -> Result<MemifSocket, PortError> {
    // The text is compared, because `components` omits a "." in the middle.
    let mut parts = network_namespace.as_os_str().as_encoded_bytes().split(|byte| *byte == b'/');
    let is_normalized = parts.all(|part| part != b"." && part != b"..");
    if !is_normalized || network_namespace.components().next() != Some(Component::RootDir) {
        return Err(PortError::NetworkNamespace { path: network_namespace.to_owned() });
    }
    Ok(MemifSocket::in_namespace(attachment.interface.as_str(), network_namespace)?)
}

fn generate_secret() -> Result<MemifSecret, PortError> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(PortError::NoRandomBytes)?;
    Ok(MemifSecret::try_from(URL_SAFE_NO_PAD.encode(bytes))?)
}
