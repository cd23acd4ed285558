//! What the engines of a node ask for and do not have.

use super::NodeFacts;
use crate::conditions::reason::{
    CPUS_NOT_EXCLUSIVE, CPUS_NOT_ISOLATED, DEVICES_MISSING, HUGEPAGES_ON_OTHER_NODE, INSUFFICIENT_CPUS,
    INSUFFICIENT_HUGEPAGES, IOMMU_OFF, NIC_NOT_BOUND,
};
use crate::userspace_engine::spec::EngineNics;
use crate::userspace_engine::types::HugepageSize;
use crate::userspace_engine::validate::{EngineCpus, ValidEngine};
use std::collections::{BTreeMap, BTreeSet};

/// The reasons for which an administrator has to prepare the node.
pub const REASONS: [&str; 8] = [
    INSUFFICIENT_HUGEPAGES,
    HUGEPAGES_ON_OTHER_NODE,
    CPUS_NOT_EXCLUSIVE,
    CPUS_NOT_ISOLATED,
    INSUFFICIENT_CPUS,
    DEVICES_MISSING,
    IOMMU_OFF,
    NIC_NOT_BOUND,
];

/// An engine that usnet runs on a node.
#[derive(Debug, Clone, Copy)]
pub struct EngineOnNode<'a> {
    pub spec: &'a ValidEngine,
    /// Whether it runs with this spec: then it has what it checks at its start.
    pub is_running: bool,
}

/// What has to be prepared on a node. What a running engine has is left out; whether CPUs are kept
/// free of other programs is checked by nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// How many hugepages the engines need that do not run.
    pub hugepages: BTreeMap<HugepageSize, u32>,
    /// How many CPUs kubelet has to give to engines alone.
    pub exclusive_cpus: u32,
    /// The CPUs that have to be free of other programs.
    pub listed_cpus: BTreeSet<u16>,
    pub has_iommu: bool,
    /// Whether a module for PCI devices is needed.
    pub has_vfio: bool,
}

impl Needs {
    /// What the engines of a node need; `reasons` are those that the node and the engines report.
    pub fn of(engines: &[EngineOnNode<'_>], reasons: &[&str], node: &NodeFacts) -> Self {
        let has = |reason: &str| reasons.contains(&reason);
        let mut needs = Self::default();
        for engine in engines {
            match &engine.spec.cpus {
                EngineCpus::Exclusive(number) if !engine.is_running => needs.exclusive_cpus += u32::from(*number),
                EngineCpus::List(cpus) => needs.listed_cpus.extend(cpus.cpus()),
                EngineCpus::Exclusive(_) | EngineCpus::Shared => {}
            }
            if !engine.is_running {
                let is_pci = engine.spec.nics == EngineNics::Pci;
                needs.has_iommu |= is_pci;
                needs.has_vfio |= is_pci;
                if let Some(size) = engine.spec.memory.hugepages {
                    let pages = engine.spec.memory.packets.mib().div_ceil(size.size().mib());
                    *needs.hugepages.entry(size).or_default() += pages;
                }
            }
        }
        // Those that kubelet counted may be in use.
        let counted = |size: &HugepageSize| node.hugepages.get(size).copied().unwrap_or_default();
        needs.hugepages.retain(|size, pages| has(INSUFFICIENT_HUGEPAGES) || counted(size) < *pages);
        // An uplink may be for an engine that usnet does not run.
        needs.has_iommu |= has(NIC_NOT_BOUND) || has(IOMMU_OFF);
        needs.has_vfio |= has(NIC_NOT_BOUND) || has(DEVICES_MISSING);
        needs
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
