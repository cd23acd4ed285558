//! Conversions between the object and the policy that nodes enforce.

use super::name::object_name;
use super::spec::{CompiledPolicySpec, CompiledPorts, CompiledRule};
use crate::NetworkName;
use crate::policy::Policy;
use crate::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange};
use std::collections::BTreeSet;

impl CompiledPolicySpec {
    /// The object of a policy. Rules that allow nothing are left out: what policies allow adds up.
    pub fn new(networks: BTreeSet<NetworkName>, generation: i64, policy: Policy) -> Self {
        let compiled = |rules: Vec<PolicyRule>| rules.into_iter().filter_map(CompiledRule::of).collect();
        Self {
            networks,
            namespace: policy.namespace,
            name: policy.name,
            generation,
            ingress: policy.ingress.map(compiled),
            egress: policy.egress.map(compiled),
        }
    }

    /// The name of the object.
    pub fn object_name(&self) -> String {
        object_name(self.namespace.as_str(), &self.name)
    }

    /// The policy that nodes enforce.
    pub fn policy(&self) -> Policy {
        let rules = |compiled: &Vec<CompiledRule>| compiled.iter().map(CompiledRule::rule).collect();
        Policy {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            ingress: self.ingress.as_ref().map(rules),
            egress: self.egress.as_ref().map(rules),
        }
    }
}

impl CompiledRule {
    /// None if the rule allows nothing.
    fn of(PolicyRule { peers, ports }: PolicyRule) -> Option<Self> {
        let peers = match peers {
            PeerAddresses::Any => None,
            PeerAddresses::Within(prefixes) => Some(prefixes),
        };
        let ports = match ports {
            DestinationPorts::Any => None,
            DestinationPorts::Within(ranges) => Some(ranges.into_iter().map(CompiledPorts::from).collect()),
        };
        let rule = Self { peers, ports };
        let allows_nothing =
            rule.peers.as_ref().is_some_and(BTreeSet::is_empty) || rule.ports.as_ref().is_some_and(BTreeSet::is_empty);
        (!allows_nothing).then_some(rule)
    }

    fn rule(&self) -> PolicyRule {
        let peers = self.peers.as_ref();
        let ranges = |ports: &BTreeSet<CompiledPorts>| ports.iter().filter_map(CompiledPorts::range).collect();
        PolicyRule {
            peers: peers.map_or(PeerAddresses::Any, |prefixes| {
                PeerAddresses::Within(prefixes.iter().map(ipnet::IpNet::trunc).collect())
            }),
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
