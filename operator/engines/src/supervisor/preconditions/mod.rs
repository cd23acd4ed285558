//! What a node has to have before its engine is started: the [`kernel`], [`hugepages`] and
//! [`devices`]; and what it should have.

mod devices;
mod hugepages;
mod isolation;
mod kernel;

use super::blocked::Blocked;
use super::cpus::{Cpus, allowed};
use super::numa::{self, Numa, Placement};
use std::path::Path;
use usnet_crds::userspace_engine::spec::EngineNics;
use usnet_crds::userspace_engine::validate::{EngineCpus, ValidEngine};

/// Checks what can be checked before the start.
pub(super) fn check(valid: &ValidEngine) -> Result<(), Blocked> {
    kernel::check()?;
    let cpus = Cpus::choose(&valid.cpus, &allowed(&valid.cpus))?;
    let placement = Placement::of(valid, &cpus, &Numa::read(Path::new(numa::FOLDER)))?;
    if let Some(size) = valid.memory.hugepages {
        hugepages::check(size, &placement, Path::new("/sys"))?;
    }
    match valid.nics {
        EngineNics::Kernel => Ok(()),
        EngineNics::Pci => devices::check(Path::new("/")),
    }
}

/// What makes the engine worse and does not keep it from running.
pub(super) fn warning(valid: &ValidEngine) -> Option<Blocked> {
    match &valid.cpus {
        EngineCpus::List(cpus) => isolation::check(cpus.cpus(), Path::new(isolation::ISOLATED)),
        EngineCpus::Shared | EngineCpus::Exclusive(_) => None,
    }
}
