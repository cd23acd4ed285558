//! Conversions between the object and the policy that nodes enforce.

use super::name::object_name;
use super::spec::{CompiledPolicySpec, CompiledPorts, CompiledRule, SelectedPods};
use crate::NetworkName;
use crate::policy::Policy;
use crate::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange};
use std::collections::BTreeSet;

impl CompiledPolicySpec {
    /// The object of a policy. Rules that allow nothing are left out: what policies allow adds up.
    pub fn new(networks: BTreeSet<NetworkName>, generation: i64, policy: Policy) -> Self {
        let compiled = |rules: Vec<PolicyRule>| rules.into_iter().filter_map(CompiledRule::of).collect();
        let Policy { namespace, name, pods, ingress, egress } = policy;
        let (ingress, egress): (CompiledRules, CompiledRules) = (ingress.map(compiled), egress.map(compiled));
        let closed = |rules: &CompiledRules| rules.as_ref().map(|_| Vec::new());
        let (ingress, egress, selected) = match pods {
            None => (ingress, egress, None),
            Some(selector) => (closed(&ingress), closed(&egress), Some(SelectedPods { selector, ingress, egress })),
        };
        Self { networks, namespace, name, generation, ingress, egress, selected }
    }

    /// The rules of both directions; none of a direction that the policy does not restrict.
    pub fn rules(&self) -> [Option<&[CompiledRule]>; 2] {
        let (ingress, egress) = match &self.selected {
            None => (&self.ingress, &self.egress),
            Some(selected) => (&selected.ingress, &selected.egress),
        };
        [ingress.as_deref(), egress.as_deref()]
    }

    /// The name of the object.
    pub fn object_name(&self) -> String {
        object_name(self.namespace.as_str(), &self.name)
    }

    /// The policy that nodes enforce.
    pub fn policy(&self) -> Policy {
        let rules = |compiled: &[CompiledRule]| compiled.iter().map(CompiledRule::rule).collect();
        let [ingress, egress] = self.rules();
        Policy {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            pods: self.selected.as_ref().map(|selected| selected.selector),
            ingress: ingress.map(rules),
            egress: egress.map(rules),
        }
    }
}

type CompiledRules = Option<Vec<CompiledRule>>;

impl CompiledRule {
    /// None if the rule allows nothing.
    fn of(PolicyRule { peers, peer_pods, ports }: PolicyRule) -> Option<Self> {
        let peers = match peers {
            PeerAddresses::Any => None,
            PeerAddresses::Within(prefixes) => Some(prefixes),
        };
        let ports = match ports {
            DestinationPorts::Any => None,
            DestinationPorts::Within(ranges) => Some(ranges.into_iter().map(CompiledPorts::from).collect()),
        };
        let rule = Self { peers, pods: peer_pods, ports };
        let has_no_peer = rule.peers.as_ref().is_some_and(BTreeSet::is_empty) && rule.pods.is_empty();
        let allows_nothing = has_no_peer || rule.ports.as_ref().is_some_and(BTreeSet::is_empty);
        (!allows_nothing).then_some(rule)
    }

    fn rule(&self) -> PolicyRule {
        let peers = self.peers.as_ref();
        let ranges = |ports: &BTreeSet<CompiledPorts>| ports.iter().filter_map(CompiledPorts::range).collect();
        PolicyRule {
            peers: peers.map_or(PeerAddresses::Any, |prefixes| {
                PeerAddresses::Within(prefixes.iter().map(ipnet::IpNet::trunc).collect())
            }),
            peer_pods: self.pods.clone(),
            ports: self.ports.as_ref().map_or(DestinationPorts::Any, |ports| DestinationPorts::Within(ranges(ports))),
        }
    }
}

impl CompiledPorts {
    /// None if the range ends before it begins: it has no port.
    fn range(&self) -> Option<PortRange> {
        let Self { protocol, first, last } = *self;
        (first <= last).then_some(PortRange { protocol, first, last })
    }
}

impl From<PortRange> for CompiledPorts {
    fn from(PortRange { protocol, first, last }: PortRange) -> Self {
        Self { protocol, first, last }
    }
}
