//! Why the images of a test bed could not be made.

use std::io;
use std::path::{Path, PathBuf};

use usnet_release::image::ImageError;
use usnet_release::tarball::TarballError;

use crate::host::command::CommandError;

/// Why an image could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file could not be read or written.
    #[error("cannot put {path} into an image")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// `ldd` or busybox failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A layer could not be written.
    #[error(transparent)]
    Tarball(#[from] TarballError),
    /// The image could not be built.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The archive that `USNET_IMAGE` names has no image of usnet.
    #[error("{0} has no image with a name and a tag; `make image` makes one that has")]
    NoImage(PathBuf),
}

impl ArchiveError {
    pub(super) fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }
}
