//! Free hugepages, on the NUMA nodes that need them.

use super::super::blocked::Blocked;
use super::super::numa::Placement;
use std::fs;
use std::path::Path;
use usnet_crds::conditions::reason::{HUGEPAGES_ON_OTHER_NODE, INSUFFICIENT_HUGEPAGES};
use usnet_crds::userspace_engine::types::{HugepageSize, MemorySize};

/// Kubernetes counts hugepages by what pods request, and other programs of the node take some
/// without asking.
pub(super) fn check(size: HugepageSize, placement: &Placement, sys: &Path) -> Result<(), Blocked> {
    let mib = size.size().mib();
    let pages = format!("hugepages-{}kB/free_hugepages", mib * 1024);
    let free = |folder: &Path| {
        let free = fs::read_to_string(folder.join(&pages)).ok()?.trim().parse::<u32>().ok()?;
        Some(MemorySize::from_mib(free.saturating_mul(mib)))
    };
    let in_all = free(&sys.join("kernel/mm/hugepages")).unwrap_or(MemorySize::from_mib(0));
    let needed = MemorySize::from_mib(placement.by_node().map(|(_, share)| share.mib()).sum());
    if in_all < needed {
        let message = format!(
            "spec.memory.packets is {needed} in hugepages of {size}, and the node has {in_all} free: reserve more by the boot parameters of the node, or use less"
        );
        return Err(Blocked::new(INSUFFICIENT_HUGEPAGES, message));
    }
    for (node, share) in placement.by_node() {
        // A kernel without NUMA has no folders of nodes.
        let there = free(&sys.join(format!("devices/system/node/node{node}/hugepages"))).unwrap_or(in_all);
        if there < share {
            let message = format!(
                "the engine needs {share} of spec.memory.packets in hugepages of {size} on NUMA node {node}, where its CPUs are; {there} are free there, and {in_all} on all NUMA nodes: reserve them on that one by the boot parameter hugepages={node}:{}, or choose other CPUs",
                share.mib() / mib
            );
            return Err(Blocked::new(HUGEPAGES_ON_OTHER_NODE, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::cpus::Cpus;
    use super::super::super::numa::Numa;
    use super::*;
    use serde_json::json;
    use std::collections::BTreeSet;
    use usnet_crds::userspace_engine::validate::validate;

    /// Writes how many hugepages of 2 MiB are free.
    fn write_free(folder: &Path, free: u32) {
        let folder = folder.join("hugepages-2048kB");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("free_hugepages"), format!("{free}\n")).unwrap();
    }

    /// The check for CPUs of the first of two NUMA nodes.
    fn check_first(sys: &Path, packets: &str, size: HugepageSize) -> Result<(), Blocked> {
        for (node, cpus) in [("node0", "0-3"), ("node1", "4-7")] {
            let folder = sys.join("devices/system/node").join(node);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cpulist"), cpus).unwrap();
        }
        let memory = json!({"packets": packets, "hugepages": size});
        let spec = serde_json::from_value(json!({"engine": "OVS", "image": "x", "memory": memory})).unwrap();
        let (valid, cpus) = (validate("x", &spec).unwrap(), Cpus { main: 0, polling: BTreeSet::from([1]) });
        let placement = Placement::of(&valid, &cpus, &Numa::read(&sys.join("devices/system/node"))).unwrap();
        check(size, &placement, sys)
    }

    #[test]
    fn free_hugepages_of_that_size_are_counted() {
        let sys = tempfile::tempdir().unwrap();
        let all = sys.path().join("kernel/mm/hugepages");
        let check = |size| check_first(sys.path(), "1Gi", size);
        write_free(&all, 511);
        let blocked = check(HugepageSize::Mi2).unwrap_err();
        assert_eq!(blocked.reason, INSUFFICIENT_HUGEPAGES);
        assert!(
            blocked.message.contains("1Gi in hugepages of 2Mi") && blocked.message.contains("1022Mi free"),
            "{blocked:?}"
        );
        write_free(&all, 512);
        assert_eq!(check(HugepageSize::Mi2), Ok(()));
        assert!(check(HugepageSize::Gi1).unwrap_err().message.contains("0Gi free"));
    }

    #[test]
    fn hugepages_of_another_numa_node_do_not_help() {
        let sys = tempfile::tempdir().unwrap();
        let node = |number| sys.path().join(format!("devices/system/node/node{number}/hugepages"));
        write_free(&sys.path().join("kernel/mm/hugepages"), 1024);
        write_free(&node(0), 100);
        write_free(&node(1), 924);
        let blocked = check_first(sys.path(), "512Mi", HugepageSize::Mi2).unwrap_err();
        assert_eq!(blocked.reason, HUGEPAGES_ON_OTHER_NODE);
        assert!(blocked.message.contains("NUMA node 0") && blocked.message.contains("hugepages=0:256"), "{blocked:?}");
        write_free(&node(0), 256);
        assert_eq!(check_first(sys.path(), "512Mi", HugepageSize::Mi2), Ok(()));
    }
}
