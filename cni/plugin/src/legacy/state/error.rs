//! The errors of removing an attachment of the legacy plugin.

use crate::attachment::engine::EngineClientError;
use crate::attachment::ipam::IpamError;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum LegacyStateError {
    #[error("cannot {action} {}, which Intel's Userspace CNI created for this interface: correct that, or remove it manually", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Engine(#[from] EngineClientError),
    #[error(transparent)]
    Ipam(#[from] IpamError),
}

pub(super) fn file_error(action: &'static str, path: &Path, source: io::Error) -> LegacyStateError {
    LegacyStateError::File { action, path: path.to_owned(), source }
}
