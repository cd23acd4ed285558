//! How much policies may need of a switch. What needs more is not enforced in part.

/// Most rules that a match is a part of, which is one flow: a message of OpenFlow has room for some
/// more.
pub const RULES_OF_MATCH_MAX: usize = 4_000;
/// Most addresses of pods that are peers of rules, in both directions together. Each of them is a
/// flow.
pub const ADDRESSES_MAX: usize = 20_000;
/// Most flows of a bridge besides. Open vSwitch takes 12,000 in 0.1 s, and has 2 MB for them.
pub const FLOWS_MAX: usize = 50_000;
/// Most parts of all rules together, before equal ones are one flow.
pub const PARTS_MAX: usize = 500_000;

/// Why policies cannot be enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    #[error("{0} of their rules name the same peer, port or namespace, and at most {RULES_OF_MATCH_MAX} may")]
    RulesOfMatch(usize),
    #[error("the pods that are their peers have {0} addresses, and at most {ADDRESSES_MAX} may be there")]
    Addresses(usize),
    #[error("they need {0} flows, and at most {FLOWS_MAX} may be there")]
    Flows(usize),
    #[error("their rules have {0} peers and ports, and at most {PARTS_MAX} may be there")]
    Parts(usize),
}

pub(super) const fn check_parts(parts: usize) -> Result<(), TooLarge> {
    if parts > PARTS_MAX { Err(TooLarge::Parts(parts)) } else { Ok(()) }
}

pub(super) const fn check_addresses(addresses: usize) -> Result<(), TooLarge> {
    if addresses > ADDRESSES_MAX { Err(TooLarge::Addresses(addresses)) } else { Ok(()) }
}

/// Checks the number of flows, besides those of addresses, and of the most rules of one match.
pub(super) const fn check(flows: usize, most_rules: usize) -> Result<(), TooLarge> {
    if flows > FLOWS_MAX {
        return Err(TooLarge::Flows(flows));
    }
    if most_rules > RULES_OF_MATCH_MAX { Err(TooLarge::RulesOfMatch(most_rules)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ovs::policy::{BridgePolicies, PolicyFlows, PolicyPort, PolicyPortState, compile};
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;
    use usnet_crds::policy::Policy;
    use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};
    use usnet_openflow::PortNumber;

    /// Policies with this many rules, each for one port and these many peers of its own.
    fn compiled(rules: u32, peers: u32) -> Result<PolicyFlows, TooLarge> {
        let rule = |rule: u32| {
            let peer = |number: u32| std::net::Ipv4Addr::from(0x0a00_0000 + rule * peers + number);
            let peers = (0..peers).map(|number| std::net::IpAddr::V4(peer(number)).into()).collect();
            let port = PortRange { protocol: TransportProtocol::Tcp, first: 80, last: 80 };
            PolicyRule {
                peers: PeerAddresses::Within(peers),
                peer_pods: BTreeSet::new(),
                ports: DestinationPorts::Within([port].into()),
            }
        };
        let ingress = Some((0..rules).map(rule).collect());
        let policies =
            [Policy { namespace: "a".parse().unwrap(), name: "p".to_owned(), pods: None, ingress, egress: None }];
        let state = PolicyPortState::of_namespace("a".parse().unwrap());
        let mac = "02:00:00:00:00:01".parse().unwrap();
        let port = PolicyPort { mac, virtual_macs: BTreeSet::new(), state };
        let ports = &Arc::new(BTreeMap::from([(PortNumber::new(7).unwrap(), port)]));
        compile(&BridgePolicies { zone: 1, policies: &policies.into(), ports, peers: &Arc::default() })
    }

    #[test]
    fn what_a_switch_does_not_take_is_an_error() {
        let most = u32::try_from(RULES_OF_MATCH_MAX).unwrap();
        assert!(compiled(most, 2).is_ok());
        assert_eq!(compiled(most + 1, 2).err(), Some(TooLarge::RulesOfMatch(RULES_OF_MATCH_MAX + 1)));
        assert!(compiled(1, 49_900).is_ok());
        assert!(matches!(compiled(1, 50_000), Err(TooLarge::Flows(count)) if count > FLOWS_MAX));
        assert!(matches!(compiled(5, 100_000), Err(TooLarge::Parts(count)) if count > PARTS_MAX));
    }

    #[test]
    fn the_flow_of_most_rules_fits_into_a_message() {
        let flows = compiled(u32::try_from(RULES_OF_MATCH_MAX).unwrap(), 1).unwrap().flows;
        let longest = flows.iter().map(|flow| flow.action.encode().bytes().len() + flow.matches.encode().bytes().len());
        // The headers of the change, of the message and of the bundle, and those of match and
        // instructions.
        assert!(longest.max().unwrap() + 40 + 8 + 16 + 16 <= usize::from(u16::MAX));
    }
}
