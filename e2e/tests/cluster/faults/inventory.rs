//! The state of usnet on a node, which must be the same after a fault.

use super::{NETWORKS, engine};
use crate::support::cluster::{TIMEOUT, on_node};
use crate::support::pods::NODE;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};
use usnet_e2e::host::wait::scaled;

/// The number of objects of each kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inventory(BTreeMap<String, usize>);

/// Returns one line for each kind.
const COUNTED: &str = "count() { echo \"$1 $2\"; }
count records $(ls /var/lib/usnet/attachments | grep -c 'json$')
count mounts $(grep -c ' /run/usnet/ports/' /proc/self/mountinfo)
count folders $(ls /run/usnet/ports | wc -l)
count devices $(ip -o link | grep -c 'alias usnet:')
count addresses $(ls /var/lib/cni/networks/faults-* | grep -c '^10')
count device-info $(ls /var/run/k8s.cni.cncf.io/devinfo/cni 2>/dev/null | wc -l)";

impl Inventory {
    fn now() -> Self {
        let text = on_node(NODE, &["sh", "-c", COUNTED]);
        let of_line = |line: &str| {
            let (kind, count) = line.split_once(' ').unwrap();
            (kind.to_owned(), count.parse().unwrap())
        };
        let mut counts: BTreeMap<String, usize> = text.lines().map(of_line).collect();
        for network in NETWORKS {
            let ports = engine::ports(network.engine, network.name).unwrap_or_default();
            counts.insert(format!("ports of {}", network.name), ports);
        }
        Self(counts)
    }

    /// The state while all pods run.
    pub(super) fn of_all_pods() -> Self {
        let pods: usize = NETWORKS.iter().map(|network| network.pods).sum();
        let inventory = Self::now();
        assert_eq!(inventory.0["records"], pods, "there are other pods: {inventory:?}");
        inventory
    }

    /// Waits until there is the same again, and gives what there is too much or is missing.
    pub(super) fn await_again(&self) -> Vec<String> {
        let deadline = Instant::now() + scaled(TIMEOUT);
        loop {
            let now = Self::now();
            if now == *self || Instant::now() > deadline {
                return self
                    .0
                    .iter()
                    .filter(|(kind, count)| now.0[*kind] != **count)
                    .map(|(kind, count)| format!("{kind}: {} instead of {count}", now.0[kind]))
                    .collect();
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}
