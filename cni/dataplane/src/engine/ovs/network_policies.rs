//! The policies of a network on its bridge: which ports of the database they are for. Pure.

use super::guarded::{FrameSource, GuardedPorts};
use super::policy::limits::TooLarge;
use super::policy::{self, BridgePolicies, PolicyFlows, PolicyPort, PolicyPortState};
use crate::model::attachment::AttachmentId;
use crate::model::port::Guard;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::NamespaceName;
use usnet_crds::policy::Policy;
use usnet_openflow::PortNumber;

/// The policies of a network, as far as they are known on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPolicies {
    /// The zone of connections, which no other network of the node has.
    pub zone: u16,
    pub policies: Arc<[Policy]>,
    /// The namespaces of the pods. The port of an attachment that is not here is closed.
    pub namespaces: BTreeMap<AttachmentId, NamespaceName>,
}

impl NetworkPolicies {
    /// What the network's bridge has for them.
    pub(super) fn compile(&self, ports: &GuardedPorts) -> Result<PolicyFlows, TooLarge> {
        policy::compile(&BridgePolicies { zone: self.zone, policies: &self.policies, ports: &self.ports(ports) })
    }

    /// What the network's bridge has if they cannot be enforced.
    pub(super) fn close(&self, ports: &GuardedPorts) -> PolicyFlows {
        policy::close(self.zone, &self.ports(ports))
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
