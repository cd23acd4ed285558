//! A node that is a virtual machine ([`crate::machines`]). The other nodes of a test bed share the
//! CPUs and hugepages of this machine, which no kubelet may give away there; a guest has its own.
//!
//! It joins a test bed that runs: its NIC is a tap device on the bridge of the nodes, containerd
//! and kubelet are those of the other nodes, and it has no engine. Control groups are of version 2.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::host::command::CommandError;
use crate::kubernetes::certificates::{Authority, CertificateError};
use crate::kubernetes::containerd;
use crate::kubernetes::kubelet;
use crate::machines::command_line::{Cable, NicSpec, Specification};
use crate::machines::machine::{Machine, MachineError};
use crate::machines::model::NicModel;
use crate::machines::packages::Packages;
use crate::nodes::api_proxy::ApiProxy;
use crate::nodes::fabric;
use crate::nodes::pod_network;
use crate::testbed::addresses;
use crate::testbed::folder::TestbedFolder;
use crate::testbed::settings::Settings;

/// An emulated processor unpacks the images.
const CONTAINERD_WITHIN: Duration = Duration::from_secs(180);
/// Where the machine has what it copies onto its root.
const FILES: &str = "files";

#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error("in the guest {name}, {what} does not start: {output}")]
    Program { name: String, what: &'static str, output: String },
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error("cannot connect the guest {0} with the nodes")]
    Connect(String, #[source] CommandError),
    #[error("cannot start kubectl proxy")]
    Proxy(#[source] io::Error),
    #[error("cannot write {0}")]
    Write(PathBuf, #[source] io::Error),
}

/// What a guest is to have.
#[derive(Debug, Clone)]
pub struct GuestSpec<'a> {
    pub name: &'a str,
    pub cpus: u8,
    /// In MiB.
    pub memory: u32,
    /// 1, or 2 with half of the CPUs and of the memory each.
    pub numa_nodes: u8,
    /// The archives of its images.
    pub images: &'a [PathBuf],
    /// Fields of the configuration of its kubelet.
    pub kubelet: Value,
}

/// A guest that runs containerd. It ends when this is dropped.
#[derive(Debug)]
pub struct Guest {
    // Fields end in this order.
    pub machine: Machine,
    _tap: Tap,
    _proxy: ApiProxy,
    _folder: TempDir,
    path: String,
    kubelet: Vec<String>,
}

impl Guest {
    /// Starts the machine and containerd in it, from a process in the network of the test bed.
    pub fn start(
        packages: &Packages,
        testbed: &TestbedFolder,
        settings: &Settings,
        spec: &GuestSpec<'_>,
    ) -> Result<Self, GuestError> {
        let folder = tempfile::Builder::new().prefix("guest-").tempdir();
        let folder = folder.map_err(|error| GuestError::Write(std::env::temp_dir(), error))?;
        let index = settings.nodes;
        let files = folder.path().join(spec.name).join("share").join(FILES);
        let authority = Authority::open(&testbed.certificates())?;
        let kubelet = write_files((testbed, &authority), settings, spec, &files)?;
        let path = settings.program_path(testbed);
        let proxy =
            ApiProxy::start(&path, &pod_network::identity(&authority, spec.name)?).map_err(GuestError::Proxy)?;
        let tap = Tap::create(spec.name, index)?;
        let machine = Machine::boot(packages, &specification(spec), &folder.path().join(spec.name))?;
        let guest = Self { machine, _tap: tap, _proxy: proxy, _folder: folder, path, kubelet };
        let (address, prefix) = (addresses::node(index), addresses::FABRIC_PREFIX);
        let mut words = vec![format!("{address}/{prefix}"), addresses::CONTROL_PLANE.to_string()];
        words.extend(spec.images.iter().map(|image| image.display().to_string()));
        guest.program("containerd", &words)?;
        Ok(guest)
    }

    /// Starts kubelet, which registers the node. It counts the hugepages that there are by then.
    pub fn start_kubelet(&self) -> Result<(), GuestError> {
        self.program("kubelet", &self.kubelet)
    }

    fn program(&self, what: &'static str, words: &[String]) -> Result<(), GuestError> {
        let script = format!("PATH='{}' /machine/node {what} {}", self.path, words.join(" "));
        let output = self.machine.output(&script, CONTAINERD_WITHIN)?;
        if output.status == 0 {
            return Ok(());
        }
        let output = format!("{}{}", output.stdout, output.stderr);
        Err(GuestError::Program { name: self.machine.name().to_owned(), what, output })
    }
}

/// The tap device of a guest.
#[derive(Debug)]
struct Tap {
    name: String,
    index: u8,
}

impl Tap {
    fn create(name: &str, index: u8) -> Result<Self, GuestError> {
        fabric::create_tap(name, index).map_err(|error| GuestError::Connect(name.to_owned(), error))?;
        Ok(Self { name: name.to_owned(), index })
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // It ends with the test bed at the latest.
        let _ = fabric::delete_tap(&self.name, self.index);
    }
}

fn specification(spec: &GuestSpec<'_>) -> Specification {
    let cable = Cable::Tap(spec.name.to_owned());
    let nic = NicSpec { model: NicModel::Virtio, cable, mac: "52:54:00:00:07:01".to_owned() };
    Specification {
        name: spec.name.to_owned(),
        nics: vec![nic],
        cpus: spec.cpus,
        memory: spec.memory,
        hugepages: 0,
        has_iommu: false,
        numa_nodes: spec.numa_nodes,
    }
}

/// Writes the files of the node into a folder, and returns the arguments of kubelet.
fn write_files(
    (testbed, authority): (&TestbedFolder, &Authority),
    settings: &Settings,
    spec: &GuestSpec<'_>,
    folder: &Path,
) -> Result<Vec<String>, GuestError> {
    let node = (spec.name, settings.nodes);
    let kubelet = kubelet::set_up(testbed, authority, node, spec.kubelet.clone())?;
    let network = pod_network::files(ApiProxy::kubeconfig(), settings.nodes);
    let runtime = (containerd::CONFIGURATION, containerd::configuration());
    let below = |path: &str| folder.join(path.trim_start_matches('/'));
    for (path, content) in kubelet.files.into_iter().chain(network).chain([runtime]) {
        let path = below(path);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, content));
        written.map_err(|error| GuestError::Write(path, error))?;
    }
    let plugins = below(pod_network::PLUGIN_FOLDER);
    pod_network::install_plugins(&plugins, &settings.tools).map_err(|error| GuestError::Write(plugins, error))?;
    Ok(kubelet.arguments)
}
