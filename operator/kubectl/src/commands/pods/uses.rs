//! The interfaces that pods have, or are to get: by their annotation, by resource claims, and by
//! UserspaceAttachments.

use crate::model::claim::{ClaimPort, Request, network_of_class};
use crate::model::interface::{Interface, interface};
use crate::model::pod::RESOURCE_PREFIX;
use crate::model::selection::{Selected, selected};
use crate::model::{Claim, Objects, Pod, Snapshot};
use std::collections::BTreeMap;
use usnet_controller::cache::NadKey;

/// An interface of a pod on a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use<'a> {
    pub pod: &'a Pod,
    /// The name of the interface; empty if the node has not chosen one yet.
    pub interface: String,
    /// What requests it, such as `claim uplink/port` or `usna/extra`; `None` for the annotation.
    pub source: Option<String>,
    /// `None` while the interface is not attached.
    pub attached: Option<Interface>,
}

/// The interfaces of each network.
pub(crate) type Uses<'a> = BTreeMap<String, Vec<Use<'a>>>;

/// Returns the interfaces of all pods that have not ended.
pub(crate) fn uses(snapshot: &Snapshot) -> Uses<'_> {
    let mut uses = Uses::new();
    for pod in snapshot.pods.iter().filter(|pod| !pod.has_ended()) {
        for (network, used) in uses_of(snapshot, pod) {
            uses.entry(network).or_default().push(used);
        }
    }
    uses
}

/// Returns the interfaces of a pod, with the network of each.
pub(crate) fn uses_of<'a>(snapshot: &'a Snapshot, pod: &'a Pod) -> Vec<(String, Use<'a>)> {
    let elements = pod.networks.as_deref().map(|text| selected(text, &pod.namespace));
    let mut uses = Vec::new();
    for element in elements.and_then(Result::ok).unwrap_or_default() {
        if let Some(network) = network_of(snapshot, &element) {
            let attached = interface(pod, &element.interface);
            uses.push((network, Use { pod, interface: element.interface, source: None, attached }));
        }
    }
    for claimed in claims_of(snapshot, pod) {
        uses.extend(claimed.ports().into_iter().filter_map(|port| Some((port.network.clone()?, port.used(pod)))));
    }
    for added in snapshot.added.iter().filter(|it| it.namespace == pod.namespace && it.pod == pod.name) {
        let attached = added.is_attached().then(|| Interface {
            interface: added.interface.clone(),
            ips: added.ips.clone(),
            mac: added.mac.clone(),
            ..Interface::default()
        });
        let (interface, source) = (added.interface.clone(), Some(added.source()));
        uses.push((added.network.clone(), Use { pod, interface, source, attached }));
    }
    uses
}

/// A resource claim of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodClaimed<'a> {
    /// `claim` with its name in the pod, or `resource` with that of an extended resource.
    pub label: String,
    /// `None` if the claim does not exist.
    pub claim: Option<&'a Claim>,
}

/// A port of a claim; one that is not allocated yet has no interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClaimedPort {
    /// Such as `claim uplink/port`.
    pub source: String,
    pub network: Option<String>,
    pub interface: String,
    pub attached: Option<Interface>,
    /// The path of the socket in the container.
    pub socket: Option<String>,
}

/// Returns the claims of a pod, those for extended resources of networks among them.
pub(crate) fn claims_of<'a>(snapshot: &'a Snapshot, pod: &Pod) -> Vec<PodClaimed<'a>> {
    let of_namespace = || snapshot.claims.iter().filter(|claim| claim.namespace == pod.namespace);
    let listed = pod.claims.iter().map(|listed| PodClaimed {
        label: format!("claim {}", listed.name),
        claim: of_namespace().find(|claim| Some(&claim.name) == listed.claim.as_ref()),
    });
    let is_of_resource = |claim: &&Claim| claim.is_of_extended_resource && claim.pod.as_ref() == Some(&pod.uid);
    let resources = of_namespace().filter(is_of_resource).map(|claim| PodClaimed {
        label: format!("resource {}", pod.resources.iter().cloned().collect::<Vec<_>>().join(", ")),
        claim: Some(claim),
    });
    listed.chain(resources).collect()
}

impl PodClaimed<'_> {
    /// Returns the ports of networks; before the allocation, one for each request.
    pub(crate) fn ports(&self) -> Vec<ClaimedPort> {
        let Some(claim) = self.claim.filter(|claim| claim.is_of_usnet()) else { return Vec::new() };
        let source = |request: &str| match claim.is_of_extended_resource {
            true => self.label.clone(),
            false => format!("{}/{request}", self.label),
        };
        // Of a claim for an extended resource the class is that of its network.
        let class = |request: &str| {
            let requested = claim.requests.iter().find(|it| it.name == request)?;
            requested.classes.iter().find_map(|class| network_of_class(class)).map(str::to_owned)
        };
        let resource = || self.label.split_once(RESOURCE_PREFIX).map(|(_, network)| network.to_owned());
        if !claim.is_allocated {
            let waiting = |request: &Request| ClaimedPort {
                source: source(&request.name),
                network: class(&request.name).or_else(resource),
                ..ClaimedPort::default()
            };
            return claim.requests.iter().map(waiting).collect();
        }
        let port = |port: &ClaimPort| ClaimedPort {
            source: source(&port.request),
            network: Some(port.network.clone()).filter(|it| !it.is_empty()).or_else(|| class(&port.request)),
            interface: port.interface.clone(),
            attached: port.is_ready.then(|| Interface {
                interface: port.interface.clone(),
                ips: port.ips.clone(),
                mac: port.mac.clone(),
                ..Interface::default()
            }),
            socket: port.socket.clone(),
        };
        claim.ports.iter().map(port).collect()
    }
}

impl ClaimedPort {
    fn used(self, pod: &Pod) -> Use<'_> {
        Use { pod, interface: self.interface, source: Some(self.source), attached: self.attached }
    }
}

/// Returns the network that an element selects; without a definition, the one of the same name.
pub(crate) fn network_of(snapshot: &Snapshot, element: &Selected) -> Option<String> {
    let same_name = || Some(element.name.clone());
    match snapshot.network_of_definition(&element.namespace, &element.name) {
        Some(found) => found.ok(),
        None if has_definition(snapshot, element) => None,
        // A generated definition has the name of its network.
        None if !snapshot.has_read(Objects::Networks) && !snapshot.has_read_definitions(&element.namespace) => {
            same_name()
        }
        None => same_name().filter(|name| snapshot.cache.networks.contains_key(name)),
    }
}

/// Whether the NetworkAttachmentDefinition exists, for any plugin.
pub(crate) fn has_definition(snapshot: &Snapshot, element: &Selected) -> bool {
    let (namespace, name) = (element.namespace.clone(), element.name.clone());
    snapshot.definitions.contains_key(&NadKey { namespace, name })
}
