//! The NUMA nodes of a machine, and how memory for packets is spread over them.

use super::blocked::Blocked;
use super::cpus::Cpus;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use usnet_crds::EngineKind;
use usnet_crds::conditions::reason::INSUFFICIENT_HUGEPAGES;
use usnet_crds::userspace_engine::types::{CpuList, MemorySize};
use usnet_crds::userspace_engine::validate::{EngineMemory, ValidEngine};

/// Where the kernel lists its NUMA nodes.
pub(super) const FOLDER: &str = "/sys/devices/system/node";

/// The CPUs of each NUMA node that has some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Numa(BTreeMap<u16, BTreeSet<u16>>);

impl Numa {
    pub(super) fn read(folder: &Path) -> Self {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let node = |entry: fs::DirEntry| {
            let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
            // Empty for a node that has memory alone.
            let cpus: CpuList = fs::read_to_string(entry.path().join("cpulist")).ok()?.trim().parse().ok()?;
            Some((number, cpus.cpus().clone()))
        };
        Self(entries.filter_map(node).collect())
    }

    /// The nodes on which an engine has memory for packets: Open vSwitch where its threads run, and
    /// VPP on all.
    fn of_packets(&self, engine: EngineKind, cpus: &Cpus) -> BTreeSet<u16> {
        let has_thread = |of_node: &BTreeSet<u16>| cpus.all().any(|cpu| of_node.contains(&cpu));
        let is_used = |of_node: &BTreeSet<u16>| engine == EngineKind::Vpp || has_thread(of_node);
        let nodes: BTreeSet<u16> =
            self.0.iter().filter(|(_, of_node)| is_used(of_node)).map(|(node, _)| *node).collect();
        // A kernel without NUMA has one.
        if nodes.is_empty() { BTreeSet::from([0]) } else { nodes }
    }
}

/// The memory for packets on each NUMA node: the same on each, in whole pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placement(BTreeMap<u16, MemorySize>);

impl Placement {
    pub(super) fn of(valid: &ValidEngine, cpus: &Cpus, numa: &Numa) -> Result<Self, Blocked> {
        let nodes = numa.of_packets(valid.engine, cpus);
        let EngineMemory { packets, hugepages, .. } = valid.memory;
        let page = hugepages.map_or(1, |size| size.size().mib());
        let number = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let share = packets.mib() / number / page * page;
        if share == 0 {
            let message = format!(
                "spec.memory.packets is {packets}, and the engine has CPUs on {number} NUMA nodes, of which each needs a hugepage: use more, or CPUs of one NUMA node"
            );
            return Err(Blocked::new(INSUFFICIENT_HUGEPAGES, message));
        }
        Ok(Self(nodes.into_iter().map(|node| (node, MemorySize::from_mib(share))).collect()))
    }

    pub(super) fn by_node(&self) -> impl Iterator<Item = (u16, MemorySize)> {
        self.0.iter().map(|(node, size)| (*node, *size))
    }

    /// The memory on one node.
    pub(super) fn share(&self) -> MemorySize {
        self.0.values().next().copied().unwrap_or(MemorySize::from_mib(0))
    }

    /// The argument of DPDK's `--socket-mem`: MiB on each node, from the first.
    pub(super) fn socket_mem(&self) -> String {
        let last = self.0.keys().next_back().copied().unwrap_or_default();
        let on = |node: u16| self.0.get(&node).map_or(0, |size| size.mib()).to_string();
        (0..=last).map(on).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use usnet_crds::userspace_engine::validate::validate;

    fn two_nodes() -> Numa {
        let folder = tempfile::tempdir().unwrap();
        for (node, cpus) in [("node0", "0-3"), ("node1", "4-7"), ("node2", ""), ("power", "")] {
            fs::create_dir(folder.path().join(node)).unwrap();
            fs::write(folder.path().join(node).join("cpulist"), format!("{cpus}\n")).unwrap();
        }
        Numa::read(folder.path())
    }

    fn placement(spec: &Value, cpus: &[u16]) -> Result<Placement, Blocked> {
        let valid = validate("x", &serde_json::from_value(spec.clone()).unwrap()).unwrap();
        let cpus = Cpus { main: cpus[0], polling: cpus.iter().copied().collect() };
        Placement::of(&valid, &cpus, &two_nodes())
    }

    #[test]
    fn open_vswitch_has_memory_where_its_threads_are_and_vpp_everywhere() {
        let memory = json!({"packets": "1Gi", "hugepages": "2Mi"});
        let socket_mem = |engine: &str, cpus: &[u16]| {
            placement(&json!({"engine": engine, "image": "x", "memory": memory}), cpus).unwrap().socket_mem()
        };
        assert_eq!(socket_mem("OVS", &[1, 2]), "1024");
        assert_eq!(socket_mem("OVS", &[5]), "0,1024");
        assert_eq!(socket_mem("OVS", &[1, 5]), "512,512");
        assert_eq!(socket_mem("VPP", &[1]), "512,512");
    }

    #[test]
    fn each_node_gets_whole_pages() {
        let of = |packets: &str, size: &str, cpus: &[u16]| {
            let memory = json!({"packets": packets, "hugepages": size});
            placement(&json!({"engine": "OVS", "image": "x", "memory": memory}), cpus)
        };
        assert_eq!(of("3Gi", "1Gi", &[0, 4]).unwrap().share().mib(), 1024);
        let blocked = of("1Gi", "1Gi", &[0, 4]).unwrap_err();
        assert!(blocked.reason == INSUFFICIENT_HUGEPAGES && blocked.message.contains("2 NUMA nodes"), "{blocked:?}");
    }

    #[test]
    fn a_kernel_without_numa_has_one_node() {
        let numa = Numa::read(Path::new("/nowhere"));
        let valid = validate("x", &serde_json::from_value(json!({"engine": "VPP", "image": "x"})).unwrap()).unwrap();
        let cpus = Cpus { main: 0, polling: BTreeSet::from([1]) };
        assert_eq!(Placement::of(&valid, &cpus, &numa).unwrap().socket_mem(), "1024");
    }
}
