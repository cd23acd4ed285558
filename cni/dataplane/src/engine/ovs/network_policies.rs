//! The policies of a network on its bridge: which ports of the database they are for. Pure.

use super::guarded::{FrameSource, GuardedPorts};
use super::policy::by_namespace::PoliciesByNamespace;
use super::policy::limits::TooLarge;
use super::policy::{BridgePolicies, PolicyParts, PolicyPort, PolicyPortState};
use crate::engine::policy_subjects::{PortOwner, class_of, peers};
use crate::model::attachment::AttachmentId;
use crate::model::port::{Guard, GuardedAddresses};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::NamespaceName;
use usnet_crds::policy::pods::{KnownPods, PodAddresses, PodClass, SelectorId};
use usnet_crds::policy::verdict::is_known;
use usnet_crds::policy::{Direction, Policy};
use usnet_openflow::PortNumber;

/// Most namespaces that are closed before all of them are: each of them costs a compilation.
const CLOSED_MAX: usize = 8;

/// The policies of a network, as far as they are known on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPolicies {
    /// The zone of connections, which no other network of the node has.
    pub zone: u16,
    pub policies: Arc<[Policy]>,
    /// The pods of the network, of this node and of others, that selectors of policies concern.
    pub pods: Arc<KnownPods>,
    /// The pods of ports. The port of an attachment that is not here is closed.
    pub owners: BTreeMap<AttachmentId, PortOwner>,
}

/// Namespaces whose policies need more than a switch takes, and whose ports are closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedNamespaces {
    pub why: TooLarge,
    /// `None` is all of them.
    pub namespaces: Option<BTreeSet<NamespaceName>>,
}

impl fmt::Display for ClosedNamespaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, namespaces } = self;
        let Some(namespaces) = namespaces else {
            return write!(formatter, "{why}; the ports of all pods of the network are closed here");
        };
        let names: Vec<&str> = namespaces.iter().map(NamespaceName::as_str).collect();
        write!(
            formatter,
            "{why}; the ports of pods of the namespaces with the most rules are closed here ({})",
            names.join(", ")
        )
    }
}

impl NetworkPolicies {
    /// What the network's bridge has for them.
    pub(super) fn compile(&self, ports: &GuardedPorts, before: Option<&PolicyParts>) -> Result<PolicyParts, TooLarge> {
        let (zone, policies) = (self.zone, &self.policies);
        let (ports, peers) = (&self.ports(ports), &self.peers(ports));
        PolicyParts::of(&BridgePolicies { zone, policies, ports, peers }, before)
    }

    /// The same; if that is more than a switch takes, the pods of the namespaces with the most
    /// rules are closed, so that what one tenant writes does not close the pods of others.
    pub(super) fn compile_what_fits(
        &self,
        ports: &GuardedPorts,
        before: Option<&PolicyParts>,
    ) -> (PolicyParts, Option<ClosedNamespaces>) {
        let why = match self.compile(ports, before) {
            Ok(compiled) => return (compiled, None),
            Err(why) => why,
        };
        let (mut left, mut namespaces) = (self.clone(), BTreeSet::new());
        while let Some(largest) = left.largest().filter(|_| namespaces.len() < CLOSED_MAX) {
            left.policies = left.policies.iter().filter(|policy| policy.namespace != largest).cloned().collect();
            left.owners.retain(|_, owner| owner.namespace != largest);
            namespaces.insert(largest);
            if let Ok(compiled) = left.compile(ports, before) {
                return (compiled, Some(ClosedNamespaces { why, namespaces: Some(namespaces) }));
            }
        }
        (PolicyParts::closed(self.zone, &self.ports(ports)), Some(ClosedNamespaces { why, namespaces: None }))
    }

    /// The namespace whose policies have the most peers and ports. Each address of pods counts.
    fn largest(&self) -> Option<NamespaceName> {
        let mut addresses: BTreeMap<SelectorId, usize> = BTreeMap::new();
        for pod in self.pods.values() {
            for selector in &pod.class.selected_by {
                *addresses.entry(*selector).or_default() += pod.addresses.len();
            }
        }
        let mut sizes: BTreeMap<&NamespaceName, usize> = BTreeMap::new();
        for policy in self.policies.iter() {
            let rules = Direction::ALL.into_iter().filter_map(|direction| policy.rules(direction)).flatten();
            let selectors = rules.flat_map(|rule| &rule.peer_pods);
            let pods: usize = selectors.filter_map(|selector| addresses.get(selector)).sum();
            *sizes.entry(&policy.namespace).or_default() += policy.size() + pods;
        }
        sizes.into_iter().max_by_key(|(_, size)| *size).map(|(namespace, _)| namespace.clone())
    }

    fn ports(&self, ports: &GuardedPorts) -> BTreeMap<PortNumber, PolicyPort> {
        let mut classes = Classes { policies: PoliciesByNamespace::of(&self.policies), known: BTreeMap::new() };
        ports.iter().filter_map(|(number, source)| Some((*number, self.port(source, &mut classes)?))).collect()
    }

    /// The port of a pod. In a VLAN it is closed: frames are sent to isolated ports whatever VLAN
    /// they are in.
    fn port(&self, source: &FrameSource, classes: &mut Classes<'_>) -> Option<PolicyPort> {
        let FrameSource::Pod { guard: Guard { mac, pairs, .. }, is_trunk, is_in_vlan, attachment } = source else {
            return None;
        };
        let owner = self.owners.get(attachment).filter(|_| !is_trunk && !is_in_vlan);
        let class = owner.and_then(|owner| classes.checked(class_of(&self.pods, owner)));
        let state = class.map_or(PolicyPortState::Closed, PolicyPortState::OfClass);
        Some(PolicyPort { mac: *mac, virtual_macs: pairs.iter().map(|pair| pair.mac).collect(), state })
    }

    /// The classes of addresses.
    fn peers(&self, ports: &GuardedPorts) -> PodAddresses {
        let mut own: BTreeMap<IpAddr, Option<&str>> = BTreeMap::new();
        for source in ports.values() {
            let FrameSource::Pod { guard, attachment, .. } = source else { continue };
            let GuardedAddresses::Only { addresses, .. } = &guard.addresses else { continue };
            let uid = self.owners.get(attachment).map(|owner| owner.uid.as_str());
            own.extend(addresses.iter().map(|address| (*address, uid)));
        }
        peers(&self.pods, own)
    }
}

/// Classes of pods, and whether it is known which policies are for each.
struct Classes<'a> {
    policies: PoliciesByNamespace<'a>,
    known: BTreeMap<Arc<PodClass>, bool>,
}

impl Classes<'_> {
    /// The class; `None` if it is not known of each policy whether it is for the pods.
    fn checked(&mut self, class: Arc<PodClass>) -> Option<Arc<PodClass>> {
        let policies = &self.policies;
        let is_known = |class: &Arc<PodClass>| is_known(policies.of_namespace(class.namespace.as_str()), class);
        let is_known = *self.known.entry(Arc::clone(&class)).or_insert_with_key(is_known);
        is_known.then_some(class)
    }
}
