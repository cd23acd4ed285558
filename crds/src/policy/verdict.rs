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
    let peer = match direction {
        Direction::Ingress => connection.source,
        Direction::Egress => connection.destination,
    };
    let mut rules = of_namespace(policies, namespace).filter_map(|policy| policy.rules(direction)).flatten();
    let is_allowed = rules.any(|rule| rule.peers.contains(peer) && rule.ports.contain(connection.port));
    is_allowed || !is_isolated(policies, namespace, direction)
}

fn of_namespace<'policy>(policies: &'policy [Policy], namespace: &str) -> impl Iterator<Item = &'policy Policy> {
    policies.iter().filter(move |policy| policy.namespace.as_str() == namespace)
}
