//! Two machines whose NICs are connected one by one.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::command_line::{Cable, NicSpec, Specification};
use super::machine::{Machine, MachineError};
use super::model::NicModel;
use super::packages::Packages;
use crate::host::wait;

/// QEMU creates the sockets of its cables before the machine starts.
const CABLES_WITHIN: Duration = Duration::from_secs(20);

/// The names of the machines.
pub const NAMES: [&str; 2] = ["left", "right"];

const CPUS: u8 = 2;
/// Memory in MiB, without which Open vSwitch and a DPDK program do not both start.
const MEMORY: u32 = 2048;

/// What both machines of a pair have.
#[derive(Debug, Clone)]
pub struct PairSpec {
    /// The models of the NICs.
    pub nics: Vec<NicModel>,
    pub hugepages: u32,
    pub has_iommu: bool,
    pub numa_nodes: u8,
}

impl Default for PairSpec {
    fn default() -> Self {
        Self { nics: vec![NicModel::E1000e; 2], hugepages: 256, has_iommu: true, numa_nodes: 1 }
    }
}

#[derive(Debug)]
pub struct Pair {
    pub left: Machine,
    pub right: Machine,
    /// Removed after the machines have ended.
    folder: TempDir,
}

impl Pair {
    /// Starts both, and waits until they run commands.
    pub fn start(packages: &Packages, spec: &PairSpec) -> Result<Self, MachineError> {
        let folder = tempfile::Builder::new().prefix("machines-").tempdir();
        let folder = folder.map_err(|error| MachineError::File(std::env::temp_dir(), error))?;
        let start = |number: usize| {
            let name = NAMES.get(number).copied().unwrap_or_default();
            Machine::start(packages, &specification(spec, name, number, folder.path()), &folder.path().join(name))
        };
        let left = start(0)?;
        let cables_are_there = || (0..spec.nics.len()).all(|nic| cable(folder.path(), nic).exists());
        // A QEMU that has ended says so below.
        if wait::until(wait::scaled(CABLES_WITHIN), cables_are_there) {
            let right = start(1)?;
            return Ok(Self { left: left.wait()?, right: right.wait()?, folder });
        }
        left.wait().and_then(|left| {
            let problem = "the sockets of its cables are missing".to_owned();
            Err(MachineError::NotReady { name: left.name().to_owned(), problem, logs: left.logs() })
        })
    }

    #[must_use]
    pub fn both(&self) -> [&Machine; 2] {
        [&self.left, &self.right]
    }

    /// The folder with a folder for each machine.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Pulls a cable at both ends, or plugs it in.
    pub fn set_cable(&self, nic: usize, is_plugged: bool) -> Result<(), MachineError> {
        self.both().into_iter().try_for_each(|machine| machine.set_carrier(nic, is_plugged))
    }
}

fn cable(folder: &Path, nic: usize) -> std::path::PathBuf {
    folder.join(format!("cable-{nic}.sock"))
}

fn specification(spec: &PairSpec, name: &str, number: usize, folder: &Path) -> Specification {
    let nics = spec.nics.iter().enumerate().map(|(nic, model)| NicSpec {
        model: *model,
        cable: Cable::Socket { path: cable(folder, nic), is_listening: number == 0 },
        mac: format!("52:54:00:00:0{}:0{}", number + 1, nic + 1),
    });
    Specification {
        name: name.to_owned(),
        nics: nics.collect(),
        cpus: CPUS,
        memory: MEMORY,
        hugepages: spec.hugepages,
        has_iommu: spec.has_iommu,
        numa_nodes: spec.numa_nodes,
    }
}
