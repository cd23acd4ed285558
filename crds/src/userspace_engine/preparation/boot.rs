//! Boot parameters of Linux.

use super::NodeFacts;
use super::needs::Needs;
use crate::userspace_engine::types::{HugepageSize, ranges};
use std::collections::BTreeMap;

/// The parameters for what a node needs.
pub fn parameters(needs: &Needs, node: &NodeFacts) -> Vec<String> {
    let mut parameters = hugepages(&pages(needs, node));
    if !needs.listed_cpus.is_empty() {
        let cpus = ranges(&needs.listed_cpus);
        parameters.extend(["isolcpus", "nohz_full", "rcu_nocbs"].map(|name| format!("{name}={cpus}")));
    }
    // The IOMMU of Arm is on without a parameter. Linux ignores the parameter of the other vendor.
    if needs.has_iommu && node.architecture != "arm64" {
        parameters.extend(["intel_iommu=on", "amd_iommu=on", "iommu=pt"].map(ToOwned::to_owned));
    }
    parameters
}

/// What the parameters are for.
pub(super) fn purpose(needs: &Needs, node: &NodeFacts) -> String {
    let mut parts = Vec::new();
    for (size, needed) in &needs.hugepages {
        let beside = match node.hugepages.get(size) {
            Some(counted) if *counted > 0 => format!(" beside the {counted} that the node has"),
            _ => String::new(),
        };
        parts.push(format!("{needed} hugepages of {size}{beside}"));
    }
    if !needs.listed_cpus.is_empty() {
        parts.push(format!("the CPUs {} without other programs", ranges(&needs.listed_cpus)));
    }
    if needs.has_iommu {
        parts.push("the IOMMU".to_owned());
    }
    parts.join(", ")
}

/// All pages that the node has to have: a parameter replaces the one that is there.
fn pages(needs: &Needs, node: &NodeFacts) -> BTreeMap<HugepageSize, u32> {
    if needs.hugepages.is_empty() {
        return BTreeMap::new();
    }
    let mut pages: BTreeMap<HugepageSize, u32> =
        node.hugepages.iter().filter(|(_, counted)| **counted > 0).map(|(size, counted)| (*size, *counted)).collect();
    for (size, needed) in &needs.hugepages {
        *pages.entry(*size).or_default() += needed;
    }
    pages
}

/// A number of pages is that of the size before it.
fn hugepages(pages: &BTreeMap<HugepageSize, u32>) -> Vec<String> {
    let name = |size: HugepageSize| match size {
        HugepageSize::Mi2 => "2M",
        HugepageSize::Gi1 => "1G",
    };
    let mut parameters = Vec::new();
    // Where both sizes are used, programs name the one that they mean.
    if pages.keys().eq([&HugepageSize::Gi1]) {
        parameters.push("default_hugepagesz=1G".to_owned());
    }
    for (size, count) in pages {
        parameters.extend([format!("hugepagesz={}", name(*size)), format!("hugepages={count}")]);
    }
    parameters
}
