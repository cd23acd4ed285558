//! All files of a release, in one folder.

mod images;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::chart::kustomize::{Kustomization, KustomizeError};
use crate::chart::{Chart, ChartError};
use crate::commands::{self, CommandError};
use crate::digest;
use crate::image::ImageError;
use crate::openvswitch::OpenvswitchError;
use crate::plugin;
use crate::samples::{self, SamplesError};
use crate::sbom::{self, SbomError};
use crate::tarball::{Tarball, TarballError};
use crate::target::{Built, Target};

/// The folder of the files where none is named: a name that no computer has.
const NO_URL: &str = "https://usnet.invalid";

/// Why a release could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// A file could not be read or written.
    #[error("cannot write the release: {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// `config/base` names another version than `Cargo.toml`.
    #[error("config/base/kustomization.yaml names no image usnet:{0}; its newTag has to be the version in Cargo.toml")]
    Version(String),
    /// cargo failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// cargo printed no JSON.
    #[error("cargo metadata printed no JSON")]
    Metadata(#[source] serde_json::Error),
    /// The image could not be made.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The image of Open vSwitch could not be made.
    #[error(transparent)]
    Openvswitch(#[from] OpenvswitchError),
    /// The tarball could not be made.
    #[error(transparent)]
    Tarball(#[from] TarballError),
    /// The chart could not be made.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// The manifests could not be made.
    #[error(transparent)]
    Kustomize(#[from] KustomizeError),
    /// The manifest for krew could not be written as YAML.
    #[error("cannot write the manifest for krew")]
    Krew(#[source] serde_yaml::Error),
    /// The samples could not be joined.
    #[error(transparent)]
    Samples(#[from] SamplesError),
    /// The SBOM could not be made.
    #[error(transparent)]
    Sbom(#[from] SbomError),
}

/// What a release is made from.
#[derive(Clone, Copy, Debug)]
pub struct Release<'a> {
    /// The checkout.
    pub checkout: &'a Path,
    /// Folders with the static programs `usnet`, `userspace` and `usnet-tools`, one for each
    /// architecture of nodes.
    pub binaries: &'a [Built],
    /// The plugin of kubectl, for each target.
    pub plugins: &'a [Built],
    /// The folder in which the files are published.
    pub url: Option<&'a str>,
    /// Name of the image without a tag.
    pub image: &'a str,
    /// The version.
    pub version: &'a str,
    /// The commit.
    pub revision: &'a str,
    /// The time of the commit, in seconds since 1970: the time of all files.
    pub time: u64,
    /// The folder that gets the files.
    pub output: &'a Path,
}

impl Release<'_> {
    /// Writes all files.
    ///
    /// # Errors
    /// When one of them cannot be made.
    pub fn write(&self) -> Result<(), ReleaseError> {
        self.write_images()?;
        let license = self.checkout.join("LICENSE");
        self.write_programs(&license)?;
        self.write_plugins(&license)?;
        self.write_manifests()?;
        self.write_chart()?;
        self.write_sbom()?;
        let changes = self.checkout.join("docs/CHANGELOG.md");
        let text = fs::read(&changes).map_err(|source| failed(changes, source))?;
        self.put("CHANGELOG.md", &text)?;
        self.write_checksums()
    }

    fn write_programs(&self, license: &Path) -> Result<(), ReleaseError> {
        let top = PathBuf::from(format!("usnet-{}", self.version));
        for Built { target: Target { system, architecture }, path: binaries } in self.binaries {
            let path = self.output.join(format!("usnet-{}-{system}-{architecture}.tar.gz", self.version));
            let mut tarball = Tarball::create(&path.with_extension("part"), self.time)?;
            for program in ["usnet", "userspace"] {
                tarball.program(&top.join(program), &binaries.join(program))?;
            }
            tarball.file(&top.join("LICENSE"), license)?;
            tarball.finish_compressed(&path)?;
        }
        Ok(())
    }

    fn write_plugins(&self, license: &Path) -> Result<(), ReleaseError> {
        let mut plugins = Vec::new();
        for built in self.plugins {
            let path = plugin::write(built, self.output, self.version, license, self.time)?;
            plugins.push((built.target, digest::of_file(&path).map_err(|source| failed(path, source))?));
        }
        let manifest = plugin::krew_manifest(&plugins, self.version, self.url.unwrap_or(NO_URL));
        let text = serde_yaml::to_string(&manifest).map_err(ReleaseError::Krew)?;
        self.put("usnet-krew.yaml", text.as_bytes())
    }

    /// What `kubectl apply -f` installs, its definitions alone, and the samples.
    fn write_manifests(&self) -> Result<(), ReleaseError> {
        let config = self.checkout.join("config");
        let render =
            |folder: &str| Kustomization { config: &config, resources: &[folder], components: &[] }.render_text();
        let configured = format!("image: usnet:{}\n", self.version);
        let all = render("default")?;
        if !all.contains(&configured) {
            return Err(ReleaseError::Version(self.version.to_owned()));
        }
        let all = all.replace(&configured, &format!("image: {}:{}\n", self.image, self.version));
        self.put("install.yaml", all.as_bytes())?;
        self.put("crds.yaml", render("crd")?.as_bytes())?;
        let samples = samples::join(&config.join("samples"), self.image, self.version)?;
        self.put("samples.yaml", samples.as_bytes())
    }

    fn write_chart(&self) -> Result<(), ReleaseError> {
        let config = self.checkout.join("config");
        let chart = Chart { config: &config, image: self.image, version: self.version, url: self.url };
        let path = self.output.join(format!("usnet-{}.tgz", self.version));
        let mut tarball = Tarball::create(&path.with_extension("part"), self.time)?;
        for (name, text) in chart.files()? {
            tarball.content(&Path::new("usnet").join(name), text.as_bytes())?;
        }
        tarball.finish_compressed(&path)?;
        Ok(())
    }

    fn write_sbom(&self) -> Result<(), ReleaseError> {
        let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let mut cargo = Command::new("cargo");
        cargo.args(["metadata", "--format-version=1", "--locked", "--filter-platform", &target]);
        let metadata = commands::run(cargo.current_dir(self.checkout), b"")?;
        let metadata: Value = serde_json::from_slice(&metadata).map_err(ReleaseError::Metadata)?;
        let lock = self.checkout.join("Cargo.lock");
        let lock = fs::read_to_string(&lock).map_err(|source| failed(lock, source))?;
        let document = sbom::cargo::document(&metadata, &lock, self.version, self.time)?;
        self.put(&format!("usnet-{}.cdx.json", self.version), format!("{document:#}\n").as_bytes())
    }

    /// The checksums of all files, as `sha256sum --check` reads them.
    fn write_checksums(&self) -> Result<(), ReleaseError> {
        let unreadable = |source| failed(self.output.to_owned(), source);
        let mut names = Vec::new();
        for entry in fs::read_dir(self.output).map_err(unreadable)? {
            names.push(entry.map_err(unreadable)?.file_name());
        }
        names.retain(|name| name != "SHA256SUMS");
        names.sort();
        let mut lines = String::new();
        for name in names {
            let path = self.output.join(&name);
            let digest = digest::of_file(&path).map_err(|source| failed(path, source))?;
            lines.push_str(&format!("{digest}  {}\n", name.display()));
        }
        self.put("SHA256SUMS", lines.as_bytes())
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<(), ReleaseError> {
        self.create(self.output)?;
        let path = self.output.join(name);
        fs::write(&path, content).map_err(|source| failed(path, source))
    }

    fn create(&self, folder: &Path) -> Result<(), ReleaseError> {
        fs::create_dir_all(folder).map_err(|source| failed(folder.to_owned(), source))
    }
}

fn failed(path: PathBuf, source: io::Error) -> ReleaseError {
    ReleaseError::File { path, source }
}
