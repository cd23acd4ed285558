//! Why an attachment of the legacy plugin could not be removed.

use crate::attachment::engine::EngineClientError;
use crate::attachment::ipam::IpamError;
use std::io;
use std::path::{Path, PathBuf};

/// Why an attachment of the legacy plugin could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum LegacyStateError {
    /// A file or folder of it cannot be used.
    #[error("cannot {action} {}, which Intel's Userspace CNI created for this interface: correct that, or remove it manually", path.display())]
    File {
        /// The operation.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineClientError),
    /// The IPAM plugin.
    #[error(transparent)]
    Ipam(#[from] IpamError),
}

pub(super) fn file_error(action: &'static str, path: &Path, source: io::Error) -> LegacyStateError {
    LegacyStateError::File { action, path: path.to_owned(), source }
}
