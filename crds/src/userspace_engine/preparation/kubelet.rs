//! The configuration of kubelet.

use super::needs::Needs;
use crate::userspace_engine::types::ranges;
use std::collections::BTreeSet;

/// Where kubeadm has the configuration.
pub(super) const FILE: &str = "/var/lib/kubelet/config.yaml";
/// The CPU that the system keeps.
const SYSTEM_CPU: u16 = 0;

/// The fields of the configuration; none if nothing is needed of kubelet.
pub fn fields(needs: &Needs) -> Vec<String> {
    let is_exclusive = needs.exclusive_cpus > 0;
    if !is_exclusive && needs.listed_cpus.is_empty() {
        return Vec::new();
    }
    let mut fields = Vec::new();
    if is_exclusive {
        fields.push("cpuManagerPolicy: static".to_owned());
    }
    let mut reserved: BTreeSet<u16> = needs.listed_cpus.clone();
    reserved.insert(SYSTEM_CPU);
    let listed = if needs.listed_cpus.is_empty() { "" } else { ", and those of the engine, which no pod may get" };
    fields.push(format!(
        "reservedSystemCPUs: \"{}\"   # CPU {SYSTEM_CPU} and its hyperthread for the system{listed}",
        ranges(&reserved)
    ));
    if has_numa(needs) {
        fields.extend(
            [
                "# Only on a machine with several NUMA nodes, for CPUs and hugepages of the same one:",
                "# topologyManagerPolicy: restricted",
                "# memoryManagerPolicy: Static",
                "# reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]   # kubeReserved, systemReserved and evictionHard together",
            ]
            .map(ToOwned::to_owned),
        );
    }
    fields
}

/// Whether kubelet gives CPUs and hugepages.
fn has_numa(needs: &Needs) -> bool {
    needs.exclusive_cpus > 0 && !needs.hugepages.is_empty()
}

/// Starts kubelet again: it counts hugepages at its start, and does not start with the state of
/// another policy.
pub(super) fn restart(needs: &Needs, has_reboot: bool) -> Vec<String> {
    let start = if has_reboot { "systemctl reboot" } else { "systemctl start kubelet" };
    if fields(needs).is_empty() {
        return vec![start.to_owned()];
    }
    let mut state = "rm -f /var/lib/kubelet/cpu_manager_state".to_owned();
    if has_numa(needs) {
        state.push_str(" /var/lib/kubelet/memory_manager_state");
    }
    vec!["systemctl stop kubelet".to_owned(), state, start.to_owned()]
}
