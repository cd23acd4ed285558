//! Addresses that several pods of a network have at once. Pure.

use crate::events::Report;
use crate::observed::Observed;
use crate::pods::NetworkPods;
use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use kube::Resource;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use usnet_crds::NetworkName;

/// The reason of the events.
const REASON: &str = "AddressConflict";

/// The conflicts that were reported and still exist.
#[derive(Debug, Default)]
pub(crate) struct Conflicts(BTreeSet<(NetworkName, IpAddr)>);

impl Conflicts {
    /// The reports of new conflicts, for each of the pods. Those that are over are forgotten.
    pub(crate) fn new_of(&mut self, observed: &Observed, pods: &BTreeMap<NetworkName, NetworkPods>) -> Vec<Report> {
        let mut found = BTreeSet::new();
        let mut reports = Vec::new();
        for (network, pods) in pods {
            for (address, uids) in pods.holders.iter().filter(|(_, uids)| uids.len() > 1) {
                let conflict = (network.clone(), *address);
                if !self.0.contains(&conflict) {
                    tracing::warn!(%network, %address, ?uids, "several pods have one address: it is a peer of no rule");
                    reports.extend(uids.iter().filter_map(|uid| report(observed, network, *address, uid)));
                }
                found.insert(conflict);
            }
        }
        self.0 = found;
        reports
    }
}

fn report(observed: &Observed, network: &NetworkName, address: IpAddr, uid: &str) -> Option<Report> {
    let pod = observed.pods.objects.get(uid)?;
    let regarding = ObjectReference {
        api_version: Some(Pod::api_version(&()).into_owned()),
        kind: Some(Pod::kind(&()).into_owned()),
        namespace: Some(pod.namespace.to_string()),
        name: Some(pod.name.to_string()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    };
    let note = format!(
        "another pod has the address {address} on network {network} too: no policy that allows pods by labels allows it, and the port of a pod that came later is closed if a policy could select it; give each pod its own address"
    );
    Some(Report { regarding, reason: REASON, note })
}
