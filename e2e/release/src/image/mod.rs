//! Images of containers: what a `Containerfile` says, and an archive that container engines load.

pub mod archive;
pub mod containerfile;
pub mod name;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::tarball::{Tarball, TarballError};
use containerfile::{Containerfile, ContainerfileError};

/// Why an image could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The `Containerfile` cannot be used.
    #[error(transparent)]
    Containerfile(#[from] ContainerfileError),
    /// A file could not be read or written.
    #[error("cannot read or write the image {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The time is none that a calendar has.
    #[error("SOURCE_DATE_EPOCH is {0}, which is no time in seconds since 1970")]
    Time(u64),
    /// A layer or the archive could not be written.
    #[error(transparent)]
    Tarball(#[from] TarballError),
}

/// How a container of an image is started, and what is said of the image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The program that runs unless the pod names one, with its arguments.
    pub entrypoint: Vec<String>,
    /// Variables, as `NAME=value`.
    pub environment: Vec<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
}

/// One image: a single layer.
#[derive(Debug)]
pub struct Image {
    /// Name and tag, such as `registry.example/usnet:0.1.0`.
    pub name: String,
    /// The architecture of its programs, as OCI names it.
    pub architecture: &'static str,
    /// What the image says besides its files.
    pub settings: Settings,
    /// The layer's tar file.
    pub layer: PathBuf,
}

/// What an image is built from.
#[derive(Clone, Copy, Debug)]
pub struct Build<'a> {
    /// The `Containerfile`.
    pub containerfile: &'a Path,
    /// The folder of the files that it copies.
    pub context: &'a Path,
    /// Their architecture, as OCI names it.
    pub architecture: &'static str,
    /// Values of its `ARG`s.
    pub arguments: &'a [(&'a str, &'a str)],
    /// The time of all files, in seconds since 1970.
    pub time: u64,
}

/// Builds an image; its layer is written to `layer`.
///
/// # Errors
/// When the `Containerfile` has more than `FROM scratch` and copies, or a file is missing.
pub fn build(name: &str, build: Build<'_>, layer: &Path) -> Result<Image, ImageError> {
    let containerfile = Containerfile::read(build.containerfile, build.arguments)?;
    let mut tarball = Tarball::create(layer, build.time)?;
    for copy in &containerfile.copies {
        tarball.program(&copy.target, &build.context.join(&copy.source))?;
    }
    let (settings, architecture) = (containerfile.settings, build.architecture);
    Ok(Image { name: name.to_owned(), architecture, settings, layer: tarball.finish()? })
}
