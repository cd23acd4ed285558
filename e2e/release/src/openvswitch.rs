//! The image of Open vSwitch with DPDK: programs of Debian packages that are installed here, with
//! their libraries, and nothing else. There is no shell; the programs use their usual folders, so
//! that `/run/openvswitch` of the node can be mounted at the same path.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::drivers::{self, Drivers};
use crate::image::Settings;
use crate::libraries::{self, LibrariesError};
use crate::packages::{self, Package, PackagesError};
use crate::tarball::{Tarball, TarballError};
use crate::verbs;

/// The switch as Debian names it beside that without DPDK.
const SWITCH: &str = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";

/// The switch as all others name it.
const USUAL_SWITCH: (&str, &str) = ("/usr/sbin/ovs-vswitchd", "../lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk");

/// What the switch needs, and what shows its state. `ovs-dpctl` is left out: it is for the kernel.
const PROGRAMS: [&str; 6] = [
    "/usr/sbin/ovsdb-server",
    "/usr/bin/ovsdb-tool",
    "/usr/bin/ovsdb-client",
    "/usr/bin/ovs-vsctl",
    "/usr/bin/ovs-appctl",
    "/usr/bin/ovs-ofctl",
];

/// What `ovsdb-tool create` makes a database of.
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// The licenses that several packages have, which their `copyright` names by path.
const LICENSES: &str = "/usr/share/common-licenses";

/// Where the programs have their database, their sockets and their logs.
const FOLDERS: [&str; 5] =
    ["/etc/openvswitch", "/run/openvswitch", "/tmp", "/var/lib/openvswitch", "/var/log/openvswitch"];

/// Why the image could not be made.
#[derive(Debug, thiserror::Error)]
pub enum OpenvswitchError {
    /// The packages are not on this machine.
    #[error(
        "there is no {0} on this machine, of which the image of Open vSwitch is made: apt-get install openvswitch-switch-dpdk"
    )]
    NotInstalled(PathBuf),
    /// A file could not be read.
    #[error("cannot read {path}, which the image of Open vSwitch shall have")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The libraries of the programs could not be found or added.
    #[error(transparent)]
    Libraries(#[from] LibrariesError),
    /// The packages are not known.
    #[error(transparent)]
    Packages(#[from] PackagesError),
    /// The layer could not be written.
    #[error(transparent)]
    Tarball(#[from] TarballError),
}

/// The files of this machine that are put into the image, at the same paths.
#[derive(Debug)]
pub struct Openvswitch {
    /// Programs, drivers and libraries.
    programs: BTreeSet<PathBuf>,
    /// Files that are read.
    data: BTreeSet<PathBuf>,
}

impl Openvswitch {
    /// Finds the files.
    ///
    /// # Errors
    /// When a program or a library is missing.
    pub fn find(drivers: Drivers<'_>) -> Result<Self, OpenvswitchError> {
        let programs: Vec<PathBuf> = std::iter::once(SWITCH).chain(PROGRAMS).map(PathBuf::from).collect();
        let mut data = BTreeSet::from([PathBuf::from(SCHEMA)]);
        if let Some(missing) = programs.iter().chain(&data).find(|path| !path.is_file()) {
            return Err(OpenvswitchError::NotInstalled(missing.clone()));
        }
        let mut programs = drivers::needed_by(&programs, drivers)?;
        let providers = verbs::providers(&programs, Path::new(verbs::CONFIGURATION))?;
        programs.extend(providers.links);
        data.extend(providers.files);
        Ok(Self { programs, data })
    }

    /// All files, sorted.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.programs.union(&self.data).cloned().collect()
    }

    /// Adds the licenses of the packages that the files are from, which an image that is given to
    /// others has to have, and returns the packages.
    ///
    /// # Errors
    /// When a file is from no package, or a license is missing.
    pub fn add_licenses(&mut self) -> Result<Vec<Package>, OpenvswitchError> {
        let failed = |source| OpenvswitchError::File { path: LICENSES.into(), source };
        for entry in fs::read_dir(LICENSES).map_err(failed)? {
            self.data.insert(entry.map_err(failed)?.path());
        }
        let packages = packages::owners(self.programs.union(&self.data))?;
        self.data.extend(packages.iter().map(Package::copyright));
        Ok(packages)
    }

    /// Writes the layer to `path`, with `time` in seconds since 1970.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn write_layer(&self, path: &Path, time: u64) -> Result<PathBuf, OpenvswitchError> {
        let mut layer = Tarball::create(path, time)?;
        libraries::add_merged_folders(&mut layer)?;
        libraries::add(&mut layer, &self.programs)?;
        for file in &self.data {
            layer.file(file, file)?;
        }
        layer.link(Path::new(USUAL_SWITCH.0), Path::new(USUAL_SWITCH.1))?;
        // Programs are built for `/var/run`, and are root where they look.
        layer.link(Path::new("/var/run"), Path::new("../run"))?;
        layer.content(Path::new("/etc/passwd"), b"root:x:0:0:root:/:/usr/sbin/nologin\n")?;
        layer.content(Path::new("/etc/group"), b"root:x:0:\n")?;
        for folder in FOLDERS {
            layer.folder(Path::new(folder))?;
        }
        Ok(layer.finish()?)
    }
}

/// What the image says besides its files: no entrypoint, because a node runs two of its programs.
#[must_use]
pub fn settings(labels: BTreeMap<String, String>) -> Settings {
    let environment = vec!["PATH=/usr/sbin:/usr/bin".to_owned()];
    Settings { entrypoint: Vec::new(), environment, labels }
}

/// The labels of a released image.
#[must_use]
pub fn labels(packages: &[Package], version: &str, revision: &str) -> BTreeMap<String, String> {
    let of_source = |source: &str| packages.iter().find(|package| package.source == source);
    let version_of = |source: &str| of_source(source).map_or("unknown", |package| package.version.as_str());
    let (switch, dpdk) = (version_of("openvswitch"), version_of("dpdk"));
    let labels = [
        ("title", "usnet-openvswitch".to_owned()),
        ("description", format!("Open vSwitch {switch} with DPDK {dpdk}, from Debian packages")),
        ("version", version.to_owned()),
        ("revision", revision.to_owned()),
    ];
    labels.map(|(name, value)| (format!("org.opencontainers.image.{name}"), value)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_labels_say_which_versions_are_in_the_image() {
        let package = |source: &str, version: &str| Package {
            name: format!("{source}-common"),
            version: version.to_owned(),
            architecture: "amd64".to_owned(),
            source: source.to_owned(),
        };
        let packages = [package("dpdk", "22.11"), package("openvswitch", "3.1.0")];
        let labels = labels(&packages, "0.1.0", "abc");
        let description = &labels["org.opencontainers.image.description"];
        assert_eq!(description, "Open vSwitch 3.1.0 with DPDK 22.11, from Debian packages");
        assert_eq!(labels["org.opencontainers.image.revision"], "abc");
    }

    #[test]
    fn the_error_says_which_package_to_install() {
        let error = OpenvswitchError::NotInstalled(SWITCH.into()).to_string();
        assert!(error.contains("apt-get install openvswitch-switch-dpdk"), "{error}");
    }
}
