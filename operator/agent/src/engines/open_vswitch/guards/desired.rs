//! What a guarded bridge should have, by its row and the policies that are known. Pure.

use super::namespaces::Namespaces;
use crate::model::policies::{KnownPolicies, NetworkKnowledge};
use std::collections::BTreeMap;
use usnet_dataplane::ovs::{GuardedBridge, GuardedPorts, NetworkPolicies, PolicyTag};

/// What a guarded bridge should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Desired {
    pub(super) ports: GuardedPorts,
    /// None without policies.
    pub(super) policies: Option<NetworkPolicies>,
    /// Whether the policies are known. If they are not, the ports of pods are closed, unless the
    /// bridge enforces earlier ones.
    pub(super) is_known: bool,
}

impl Desired {
    /// None if the row of the bridge is being repaired: its flows are left as they are.
    pub(super) fn of(bridge: &GuardedBridge, known: &KnownPolicies, namespaces: &Namespaces) -> Option<Self> {
        let GuardedBridge { network, policies, ports } = bridge;
        let ports = ports.clone();
        let zone = match policies {
            PolicyTag::None => return Some(Self { ports, policies: None, is_known: true }),
            PolicyTag::Zone(zone) => zone.number(),
            PolicyTag::Invalid => return None,
        };
        let (NetworkKnowledge { policies, pods }, owners) = match known {
            Some(all) => (all.get(network).cloned().unwrap_or_default(), namespaces.of(&ports)),
            None => (Default::default(), BTreeMap::new()),
        };
        let policies = Some(NetworkPolicies { zone, policies, pods, owners });
        Some(Self { ports, policies, is_known: known.is_some() })
    }
}
