//! The policies of a network on its bridge: which ports of the database they are for. Pure.

use super::guarded::{FrameSource, GuardedPorts};
use super::policy::limits::TooLarge;
use super::policy::{self, BridgePolicies, PolicyFlows, PolicyPort, PolicyPortState};
use crate::model::attachment::AttachmentId;
use crate::model::port::Guard;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use usnet_crds::NamespaceName;
use usnet_crds::policy::Policy;
use usnet_openflow::PortNumber;

/// Most namespaces that are closed before all of them are: each of them costs a compilation.
const CLOSED_MAX: usize = 8;

/// The policies of a network, as far as they are known on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPolicies {
    /// The zone of connections, which no other network of the node has.
    pub zone: u16,
    pub policies: Arc<[Policy]>,
    /// The namespaces of the pods. The port of an attachment that is not here is closed.
    pub namespaces: BTreeMap<AttachmentId, NamespaceName>,
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
    pub(super) fn compile(&self, ports: &GuardedPorts) -> Result<PolicyFlows, TooLarge> {
        policy::compile(&BridgePolicies { zone: self.zone, policies: &self.policies, ports: &self.ports(ports) })
    }

    /// The same; if that is more than a switch takes, the pods of the namespaces with the most
    /// rules are closed, so that what one tenant writes does not close the pods of others.
    pub(super) fn compile_what_fits(&self, ports: &GuardedPorts) -> (PolicyFlows, Option<ClosedNamespaces>) {
        let why = match self.compile(ports) {
            Ok(compiled) => return (compiled, None),
            Err(why) => why,
        };
        let (mut left, mut namespaces) = (self.clone(), BTreeSet::new());
        while let Some(largest) = left.largest().filter(|_| namespaces.len() < CLOSED_MAX) {
            left.policies = left.policies.iter().filter(|policy| policy.namespace != largest).cloned().collect();
            left.namespaces.retain(|_, namespace| *namespace != largest);
            namespaces.insert(largest);
            if let Ok(compiled) = left.compile(ports) {
                return (compiled, Some(ClosedNamespaces { why, namespaces: Some(namespaces) }));
            }
        }
        (policy::close(self.zone, &self.ports(ports)), Some(ClosedNamespaces { why, namespaces: None }))
    }

    /// The namespace whose policies have the most peers and ports.
    fn largest(&self) -> Option<NamespaceName> {
        let mut sizes: BTreeMap<&NamespaceName, usize> = BTreeMap::new();
        for policy in self.policies.iter() {
            *sizes.entry(&policy.namespace).or_default() += policy.size();
        }
        sizes.into_iter().max_by_key(|(_, size)| *size).map(|(namespace, _)| namespace.clone())
    }

    fn ports(&self, ports: &GuardedPorts) -> BTreeMap<PortNumber, PolicyPort> {
        ports.iter().filter_map(|(number, source)| Some((*number, self.port(source)?))).collect()
    }

    /// The port of a pod. In a VLAN it is closed: frames are sent to isolated ports whatever VLAN
    /// they are in.
    fn port(&self, source: &FrameSource) -> Option<PolicyPort> {
        let FrameSource::Pod { guard: Guard { mac, pairs, .. }, is_trunk, is_in_vlan, attachment } = source else {
            return None;
        };
        let namespace = self.namespaces.get(attachment).filter(|_| !is_trunk && !is_in_vlan);
        let state = namespace.cloned().map_or(PolicyPortState::Closed, PolicyPortState::OfNamespace);
        Some(PolicyPort { mac: *mac, virtual_macs: pairs.iter().map(|pair| pair.mac).collect(), state })
    }
}
