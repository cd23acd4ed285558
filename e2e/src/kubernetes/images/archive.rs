//! Container images without a container engine: a `docker-archive`, which `ctr images import`
//! reads, is a tar of each image's configuration, its layers (tars themselves) and a list of both.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tar::{Builder, EntryType, Header};

use crate::host::command::{self, CommandError};

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
    /// `sha256sum` or `ldd` failed.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// One image: a single layer and the program that it starts.
#[derive(Debug)]
pub struct Image<'a> {
    /// Name and tag, such as `busybox:e2e`.
    pub name: &'a str,
    /// The program that runs unless the pod names one, with its arguments.
    pub entrypoint: &'a [&'a str],
    /// The layer's tar file.
    pub layer: PathBuf,
}

/// The files of an image, added one by one. Equal content gives an equal layer: owners and times
/// are all 0.
pub struct Layer {
    builder: Builder<File>,
    path: PathBuf,
    added: BTreeSet<PathBuf>,
}

impl Layer {
    /// An empty layer that is written to `path`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path) -> Result<Self, ArchiveError> {
        let file = File::create(path).map_err(|source| file_error(path, source))?;
        Ok(Self { builder: Builder::new(file), path: path.to_owned(), added: BTreeSet::new() })
    }

    /// Adds a copy of `source` as `target`, an absolute path, executable.
    ///
    /// # Errors
    /// When it cannot be read or the layer not be written.
    pub fn file(&mut self, target: &Path, source: &Path) -> Result<(), ArchiveError> {
        if !self.begin(target)? {
            return Ok(());
        }
        let mut file = File::open(source).map_err(|error| file_error(source, error))?;
        let size = file.metadata().map_err(|error| file_error(source, error))?.len();
        let mut header = header(EntryType::Regular, size);
        self.builder.append_data(&mut header, relative(target), &mut file).map_err(|error| file_error(source, error))
    }

    /// Adds a symbolic link `target` that leads to `destination`.
    ///
    /// # Errors
    /// When the layer cannot be written.
    pub fn link(&mut self, target: &Path, destination: &Path) -> Result<(), ArchiveError> {
        if !self.begin(target)? {
            return Ok(());
        }
        let mut header = header(EntryType::Symlink, 0);
        self.builder
            .append_link(&mut header, relative(target), destination)
            .map_err(|source| file_error(target, source))
    }

    /// Adds a folder with those above it.
    ///
    /// # Errors
    /// When the layer cannot be written.
    pub fn folder(&mut self, target: &Path) -> Result<(), ArchiveError> {
        if target == Path::new("/") || !self.begin(target)? {
            return Ok(());
        }
        let mut header = header(EntryType::Directory, 0);
        self.builder
            .append_data(&mut header, relative(target), io::empty())
            .map_err(|source| file_error(target, source))
    }

    /// Ends the layer and gives its path.
    ///
    /// # Errors
    /// When the layer cannot be written.
    pub fn finish(mut self) -> Result<PathBuf, ArchiveError> {
        self.builder.finish().map_err(|source| file_error(&self.path, source))?;
        Ok(self.path)
    }

    /// False when the layer has `target` already; otherwise makes the folders above it.
    fn begin(&mut self, target: &Path) -> Result<bool, ArchiveError> {
        if !self.added.insert(target.to_owned()) {
            return Ok(false);
        }
        if let Some(parent) = target.parent() {
            self.folder(parent)?;
        }
        Ok(true)
    }
}

/// Writes images into one archive. The archive appears whole or not at all.
///
/// # Errors
/// When a file cannot be read or written.
pub fn write(path: &Path, images: &[Image<'_>]) -> Result<(), ArchiveError> {
    let scratch = path.with_extension(format!("{}.part", std::process::id()));
    let failed = |source| file_error(&scratch, source);
    let mut builder = Builder::new(File::create(&scratch).map_err(failed)?);
    let mut list = Vec::new();
    for image in images {
        let digest = digest(std::slice::from_ref(&image.layer))?;
        let configuration = json!({
            "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
            "os": "linux",
            "config": {
                "Entrypoint": image.entrypoint,
                "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            },
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{digest}")]},
        });
        let short_name = image.name.replace(':', "-");
        let (configuration_name, layer_name) = (format!("{short_name}.json"), format!("{digest}.tar"));
        append(&mut builder, &configuration_name, &configuration).map_err(failed)?;
        builder.append_path_with_name(&image.layer, &layer_name).map_err(|source| file_error(&image.layer, source))?;
        list.push(json!({"Config": configuration_name, "RepoTags": [image.name], "Layers": [layer_name]}));
    }
    append(&mut builder, "manifest.json", &json!(list)).map_err(failed)?;
    builder.finish().map_err(failed)?;
    fs::rename(&scratch, path).map_err(|source| file_error(path, source))
}

/// The SHA-256 of files, in hexadecimal: of one file that of its content, of several that of their
/// digests in this order.
///
/// # Errors
/// When a file cannot be read.
pub fn digest(files: &[PathBuf]) -> Result<String, ArchiveError> {
    let listing = command::run(Command::new("sha256sum").args(files))?;
    let first_word = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    if files.len() == 1 {
        return Ok(first_word(&listing));
    }
    Ok(first_word(&command::run_with_input(&mut Command::new("sha256sum"), &listing)?))
}

fn append(builder: &mut Builder<File>, name: &str, content: &serde_json::Value) -> io::Result<()> {
    let text = content.to_string();
    let mut header = header(EntryType::Regular, text.len() as u64);
    builder.append_data(&mut header, name, text.as_bytes())
}

fn header(kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o755);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

fn relative(target: &Path) -> PathBuf {
    target.components().filter(|component| matches!(component, Component::Normal(_))).collect()
}

fn file_error(path: &Path, source: io::Error) -> ArchiveError {
    ArchiveError::File { path: path.to_owned(), source }
}
