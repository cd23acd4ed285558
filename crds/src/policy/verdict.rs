//! Whether policies allow a connection.

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

/// Whether any of the policies restricts what pods of the namespace may have in a direction.
pub fn is_isolated(policies: &[Policy], namespace: &str, direction: Direction) -> bool {
    of_namespace(policies, namespace).any(|policy| policy.rules(direction).is_some())
}

/// Whether the policies allow a connection on the side of a pod of the namespace. The other side
/// has its own policies.
pub fn is_allowed(policies: &[Policy], namespace: &str, direction: Direction, connection: &Connection) -> bool {
    allowing(policies, namespace, direction, connection).is_some() || !is_isolated(policies, namespace, direction)
}

/// The first policy that has a rule for a connection on the side of a pod of the namespace.
pub fn allowing<'policy>(
    policies: &'policy [Policy],
    namespace: &str,
    direction: Direction,
    connection: &Connection,
) -> Option<&'policy Policy> {
    let peer = match direction {
        Direction::Ingress => connection.source,
        Direction::Egress => connection.destination,
    };
    of_namespace(policies, namespace).find(|policy| {
        let mut rules = policy.rules(direction).into_iter().flatten();
        rules.any(|rule| rule.peers.contains(peer) && rule.ports.contain(connection.port))
    })
}

fn of_namespace<'policy>(policies: &'policy [Policy], namespace: &str) -> impl Iterator<Item = &'policy Policy> {
    policies.iter().filter(move |policy| policy.namespace.as_str() == namespace)
}
