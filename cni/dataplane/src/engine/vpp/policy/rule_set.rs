//! What policies allow a pod, as prefixes of peers and ranges of ports. No IO.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_crds::policy::pods::{PodAddresses, PodClass};
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};
use usnet_crds::policy::verdict::of_class;
use usnet_crds::policy::{Direction, Policy};

/// What a pod may have in each direction; `None` is not restricted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct RuleSet {
    pub ingress: Option<BTreeSet<Permit>>,
    pub egress: Option<BTreeSet<Permit>>,
}

/// Connections with peers of a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permit {
    pub peer: IpNet,
    pub service: Service,
}

/// The destination ports of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// Any, and protocols without ports.
    Any,
    Ports(PortRange),
}

impl Permit {
    /// Whether other packets than those of TCP are allowed.
    pub(super) const fn has_datagrams(&self) -> bool {
        !matches!(self.service, Service::Ports(PortRange { protocol: TransportProtocol::Tcp, .. }))
    }
}

impl RuleSet {
    /// What policies allow pods of a class; `None` if that is more than so many permits in a
    /// direction.
    #[must_use]
    pub fn of(policies: &[Policy], class: &PodClass, pods: &PodAddresses, most: usize) -> Option<Self> {
        let permits = |direction| {
            let mut rules = of_class(policies, class).filter_map(|policy| policy.rules(direction)).peekable();
            let is_restricted = rules.peek().is_some();
            let mut permits = BTreeSet::new();
            for rule in rules.flatten() {
                add(rule, pods, &mut permits, most)?;
            }
            Some(is_restricted.then_some(permits))
        };
        Some(Self { ingress: permits(Direction::Ingress)?, egress: permits(Direction::Egress)? })
    }

    #[must_use]
    pub const fn in_direction(&self, direction: Direction) -> Option<&BTreeSet<Permit>> {
        match direction {
            Direction::Ingress => self.ingress.as_ref(),
            Direction::Egress => self.egress.as_ref(),
        }
    }

    /// Whether it restricts any direction.
    #[must_use]
    pub const fn is_restricted(&self) -> bool {
        self.ingress.is_some() || self.egress.is_some()
    }

    const fn restricts_both(&self) -> bool {
        self.ingress.is_some() && self.egress.is_some()
    }

    /// Whether sessions may be left that these rules do not allow: of a direction that was not
    /// restricted, or of datagrams that were allowed while both were. Otherwise packets that rules
    /// allow add no sessions.
    #[must_use]
    pub fn outdates_sessions_of(&self, before: &Self) -> bool {
        Direction::ALL.into_iter().any(|direction| {
            match (before.in_direction(direction), self.in_direction(direction)) {
                (_, None) => false,
                (None, Some(_)) => before.is_restricted(),
                (Some(before_permits), Some(now)) => {
                    before.restricts_both() && before_permits.difference(now).any(Permit::has_datagrams)
                }
            }
        })
    }
}

/// `None` if there are too many.
fn add(rule: &PolicyRule, pods: &PodAddresses, permits: &mut BTreeSet<Permit>, most: usize) -> Option<()> {
    let peers = peers(rule, pods);
    match &rule.ports {
        DestinationPorts::Any => permits.extend(peers.into_iter().map(|peer| Permit { peer, service: Service::Any })),
        DestinationPorts::Within(ranges) => {
            for range in ranges {
                let permit = |peer| Permit { peer, service: Service::Ports(*range) };
                permits.extend(peers.iter().copied().map(permit));
                if permits.len() > most {
                    return None;
                }
            }
        }
    }
    (permits.len() <= most).then_some(())
}

fn peers(rule: &PolicyRule, pods: &PodAddresses) -> Vec<IpNet> {
    match &rule.peers {
        PeerAddresses::Any => vec![Ipv4Net::default().into(), Ipv6Net::default().into()],
        PeerAddresses::Within(prefixes) => {
            let selected = |class: &PodClass| !class.selected_by.is_disjoint(&rule.peer_pods);
            let of_pods = pods.0.iter().filter(|(_, class)| selected(class)).map(|(address, _)| single(*address));
            prefixes.iter().map(IpNet::trunc).chain(of_pods).collect()
        }
    }
}

fn single(address: IpAddr) -> IpNet {
    address.into()
}
