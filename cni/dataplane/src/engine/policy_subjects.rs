//! The pods of ports, as subjects of policies and as peers of rules. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::NamespaceName;
use usnet_crds::policy::pods::{KnownPod, KnownPods, PodAddresses, PodClass};

/// The pod of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortOwner {
    pub namespace: NamespaceName,
    /// The uid of the pod.
    pub uid: String,
}

/// What is known of a pod. Pods that no selector concerns are not among those that are known.
#[must_use]
pub fn class_of(pods: &KnownPods, PortOwner { namespace, uid }: &PortOwner) -> Arc<PodClass> {
    let known = pods.get(uid).map(|pod| &pod.class).filter(|class| class.namespace == *namespace);
    known.cloned().unwrap_or_else(|| Arc::new(PodClass::of_namespace(namespace.clone())))
}

/// The classes of addresses. An address of a port of this node is that port's pod's, by uid if it
/// is known: what is known of another pod is outdated.
#[must_use]
pub fn peers(pods: &KnownPods, own: BTreeMap<IpAddr, Option<&str>>) -> PodAddresses {
    peers_among(pods.values(), pods, own)
}

/// The same of some addresses, given all pods that have any of them.
pub(crate) fn peers_among<'pod>(
    with_addresses: impl IntoIterator<Item = &'pod KnownPod>,
    pods: &KnownPods,
    own: BTreeMap<IpAddr, Option<&str>>,
) -> PodAddresses {
    let PodAddresses(mut all) = PodAddresses::of(with_addresses);
    for (address, uid) in own {
        let pod = uid.and_then(|uid| pods.get(uid)).filter(|pod| pod.addresses.contains(&address));
        match pod {
            Some(pod) => drop(all.insert(address, Arc::clone(&pod.class))),
            None => drop(all.remove(&address)),
        }
    }
    PodAddresses(all)
}
