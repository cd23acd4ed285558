//! The state that a replacement of usnet must not change.

use crate::support::cluster::{check, eventually, kubectl, on_node, vsctl};
use crate::support::pods::NODE;
use crate::support::testpmd::{counters, last_counters};
use crate::support::vpp;
use crate::support::vpp::requests::Requests;
use std::collections::BTreeMap;
use std::fmt;

/// The ports of some networks in both engines, and what changes when one of them is recreated.
pub(super) struct Ports {
    /// The rows of Open vSwitch: name, UUID and number of each port, and its QoS.
    rows: Vec<String>,
    /// What Open vSwitch keeps on disk grows with each changed row; counters are not part of it.
    database: String,
    /// VPP's name and the tag of each port, by its network.
    interfaces: BTreeMap<String, Vec<(String, String)>>,
}

impl Ports {
    pub(super) fn read(networks: &[&str]) -> Self {
        let mut rows = Vec::new();
        let mut interfaces = BTreeMap::new();
        for network in networks {
            let tag = format!("external_ids:usnet.dev/network={network}");
            for (table, columns) in [("Bridge", "name,_uuid"), ("Port", "name,_uuid,qos,tag")] {
                let observed = vsctl(
                    NODE,
                    &["--format=csv", "--no-headings", &format!("--columns={columns}"), "find", table, &tag],
                );
                rows.extend(observed.lines().map(ToOwned::to_owned));
            }
            if let Some(ports) = vpp::ports(NODE, network) {
                let mut ports: Vec<_> = ports.into_iter().map(|port| (port.name, port.tag)).collect();
                ports.sort();
                interfaces.insert((*network).to_owned(), ports);
            }
        }
        let numbers =
            vsctl(NODE, &["--format=csv", "--no-headings", "--columns=name,_uuid,ofport", "list", "Interface"]);
        rows.extend(numbers.lines().map(ToOwned::to_owned));
        rows.sort();
        let database = on_node(NODE, &["cksum", "/etc/openvswitch/conf.db"]);
        Self { rows, database, interfaces }
    }

    /// `self` was read before `after`, and VPP was asked `requests` between them.
    #[track_caller]
    pub(super) fn assert_same(&self, after: &Self, requests: &Requests) {
        assert_eq!(self.rows, after.rows, "ports of Open vSwitch");
        assert_eq!(self.interfaces, after.interfaces, "ports of VPP");
        assert_eq!(self.database, after.database, "a row of Open vSwitch changed");
        let (all, changing) = requests.all_and_changing();
        assert!(all.iter().any(|request| request.contains("bridge_domain_dump")), "VPP was not read: {all:?}");
        assert_eq!(changing, Vec::<String>::new(), "what changes VPP, of {all:?}");
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interfaces: usize = self.interfaces.values().map(Vec::len).sum();
        write!(formatter, "{} rows of Open vSwitch, {interfaces} interfaces of VPP", self.rows.len())
    }
}

/// Returns the number of ports of a network in its engine on the node of the pods.
pub(super) fn count(network: &str) -> usize {
    let tag = format!("external_ids:usnet.dev/network={network}");
    let rows = vsctl(NODE, &["--bare", "--columns=_uuid", "find", "Port", &tag]);
    rows.split_whitespace().count() + vpp::ports(NODE, network).map_or(0, |ports| ports.len())
}

/// Pods whose programs send to each other and count what they receive.
pub(super) struct Traffic {
    namespace: String,
    pods: Vec<String>,
}

impl Traffic {
    pub(super) fn new<'a>(namespace: &str, pods: impl Iterator<Item = &'a str>) -> Self {
        Self { namespace: namespace.to_owned(), pods: pods.map(ToOwned::to_owned).collect() }
    }

    fn log(&self, pod: &str, tail: &str) -> String {
        kubectl(&["logs", pod, "-n", &self.namespace, tail])
    }

    /// The packets that each pod has received.
    pub(super) fn received(&self) -> BTreeMap<String, i64> {
        let last = |pod: &String| last_counters(&self.log(pod, "--tail=60")).first().copied().unwrap_or_default();
        self.pods.iter().map(|pod| (pod.clone(), last(pod))).collect()
    }

    /// Waits until each pod has received more.
    pub(super) fn await_more(&self, before: &BTreeMap<String, i64>) -> BTreeMap<String, i64> {
        eventually("more packets to each pod", || {
            let now = self.received();
            check(now.iter().all(|(pod, count)| *count > before[pod]), format!("{before:?} {now:?}"))?;
            Ok(now)
        })
    }

    /// Asserts that no counter ever went back, as that of a recreated port would, and prints how
    /// long one stood still at most.
    pub(super) fn report(&self) {
        for pod in &self.pods {
            let counts: Vec<i64> =
                counters(&self.log(pod, "--tail=-1")).into_iter().skip_while(|count| *count == 0).collect();
            assert!(counts.is_sorted(), "the counter of {pod} went back: {counts:?}");
            let longest = counts.chunk_by(|one, other| one == other).map(<[i64]>::len).max().unwrap_or_default() - 1;
            let (first, last) = (counts.first().copied(), counts.last().copied());
            println!(
                "{pod}: {first:?} to {last:?} packets received in {} s; the counter stood still for {longest} s at most",
                counts.len()
            );
        }
    }
}
