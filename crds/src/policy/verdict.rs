//! Whether policies allow a connection.

use super::pods::{PodAddresses, PodClass};
use super::{Direction, Policy};
use crate::policy::rule::TransportProtocol;
use std::net::IpAddr;

/// A connection, by its first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// Protocol and destination port; `None` for protocols without ports.
    pub port: Option<(TransportProtocol, u16)>,
}

/// Whether it is known of each policy whether it is for pods of the class. If it is not, they may
/// not have any connection.
pub fn is_known<'policy>(policies: impl IntoIterator<Item = &'policy Policy>, class: &PodClass) -> bool {
    of_namespace(policies, class).all(|policy| selects(policy, class).is_some())
}

/// Whether any of the policies restricts what pods of the class may have in a direction.
pub fn is_isolated<'policy>(
    policies: impl IntoIterator<Item = &'policy Policy>,
    class: &PodClass,
    direction: Direction,
) -> bool {
    of_class(policies, class).any(|policy| policy.rules(direction).is_some())
}

/// Whether the policies allow a connection on the side of a pod of the class. The other side has
/// its own policies.
pub fn is_allowed(
    policies: &[Policy],
    class: &PodClass,
    direction: Direction,
    connection: &Connection,
    pods: &PodAddresses,
) -> bool {
    allowing(policies, class, direction, connection, pods).is_some() || !is_isolated(policies, class, direction)
}

/// The first policy that has a rule for a connection on the side of a pod of the class.
pub fn allowing<'policy>(
    policies: &'policy [Policy],
    class: &PodClass,
    direction: Direction,
    connection: &Connection,
    pods: &PodAddresses,
) -> Option<&'policy Policy> {
    let peer = match direction {
        Direction::Ingress => connection.source,
        Direction::Egress => connection.destination,
    };
    of_class(policies, class).find(|policy| {
        let mut rules = policy.rules(direction).into_iter().flatten();
        rules.any(|rule| rule.has_peer(peer, pods) && rule.ports.contain(connection.port))
    })
}

/// The policies that are for pods of a class, as far as that is known.
pub fn of_class<'policy>(
    policies: impl IntoIterator<Item = &'policy Policy>,
    class: &PodClass,
) -> impl Iterator<Item = &'policy Policy> {
    of_namespace(policies, class).filter(|policy| selects(policy, class) == Some(true))
}

/// Whether a policy of the namespace is for pods of a class; `None` if it is not known.
fn selects(policy: &Policy, class: &PodClass) -> Option<bool> {
    policy.pods.map_or(Some(true), |selector| class.is_selected_by(selector))
}

fn of_namespace<'policy>(
    policies: impl IntoIterator<Item = &'policy Policy>,
    class: &PodClass,
) -> impl Iterator<Item = &'policy Policy> {
    policies.into_iter().filter(|policy| policy.namespace == class.namespace)
}
