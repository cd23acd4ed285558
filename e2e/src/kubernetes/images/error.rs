//! The errors of building images.

use std::io;
use std::path::{Path, PathBuf};

use usnet_release::image::ImageError;
use usnet_release::libraries::LibrariesError;
use usnet_release::openvswitch::OpenvswitchError;
use usnet_release::tarball::TarballError;

use crate::host::command::CommandError;

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("cannot put {path} into an image")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Tarball(#[from] TarballError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Libraries(#[from] LibrariesError),
    #[error(transparent)]
    Openvswitch(#[from] OpenvswitchError),
    #[error("{0} has no image with a name and a tag; build it with `make image`")]
    NoImage(PathBuf),
}

impl ArchiveError {
    pub(super) fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }
}
