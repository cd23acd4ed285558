//! Flows by which a bridge enforces policies, behind those of the [`guard`](super::guard), which
//! send to them what a port may send. No IO.
//!
//! A port is isolated if a policy restricts its connections in a direction. Frames between other
//! ports are forwarded as before; packets of or to an isolated one are looked up in the connections
//! of the network's zone, and both directions of a connection are compared with the rules by its
//! first packet: a changed policy applies to connections at once, and to both directions.
//!
//! | table | | |
//! |---|---|---|
//! | 10 | `classify` | closed ports, the source (register 0) |
//! | 11 | `destination` | the destination (1), fragments, what is looked up (20) |
//! | 12 | `classify` | ARP and neighbor discovery, without which no packet finds its receiver |
//! | 20 | `connections` | packets of no connection, answers: source and destination change places |
//! | 21, 22 | `pods` | the classes of source (2) and destination (4), as peers of rules |
//! | 25 | `rules` | what the source may have |
//! | 28 | `flood` | copies for each isolated port (5), of what several ports get |
//! | 30 | `rules` | what the destination may have |
//! | 39 | `connections` | new connections are remembered, packets are sent to their port (6) |
//! | 40 | `connections` | what is not restricted is forwarded as by a switch that learns |
//!
//! - Ports do not get what is flooded, unless a group of the bridge has them: a switch floods also
//!   what it only does not know, and with a broadcast address all ports would get what they may
//!   not. So isolated ports are in [`PolicyFlows::unflooded`].
//! - Fragments of and to isolated ports are dropped: Open vSwitch 3.1 puts fragments together over
//!   all ports and zones, and sends what is left of them with the next packets of any port.
//! - Frames to a MAC address that several ports have, or by which an isolated port may send besides
//!   its own, are dropped: at which port the switch has seen it last says nothing.
//! - A closed port gets and sends nothing: its rules are not known or too many, or it is in a VLAN,
//!   in which these flows would not keep it.
//!
//! [`parts`](PolicyParts) has what these flows follow from: of a change only flows are made whose
//! part it changes.

mod assigned;
pub(super) mod by_namespace;
mod classify;
mod connections;
mod destination;
pub(super) mod differing;
mod flood;
pub mod limits;
mod parts;
mod pods;
mod port;
mod port_mask;
mod rules;
mod step;

#[cfg(test)]
mod tests;

pub(super) use parts::ChangedFlows;
pub use parts::PolicyParts;
pub use port::{PolicyPort, PolicyPortState};

use limits::TooLarge;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
pub(super) use step::CONNECTION;
use step::{CLASSIFY, DESTINATION, EGRESS, INGRESS};
use usnet_crds::policy::pods::PodAddresses;
use usnet_crds::policy::{Direction, Policy};
use usnet_openflow::flow::{Action, CookieFilter, Flow, Group, GroupId};
use usnet_openflow::{InstalledFlow, PortNumber};

/// What the policies of a network are, on one bridge.
#[derive(Debug, Clone)]
pub struct BridgePolicies<'a> {
    /// The zone of connections, which no other network of the node has.
    pub zone: u16,
    pub policies: &'a Arc<[Policy]>,
    /// The ports of pods. Others are not restricted.
    pub ports: &'a Arc<BTreeMap<PortNumber, PolicyPort>>,
    /// The addresses of pods that may be peers.
    pub peers: &'a Arc<PodAddresses>,
}

/// What a bridge has for its policies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyFlows {
    pub flows: Vec<Flow>,
    /// Groups that the flows send to.
    pub groups: Vec<Group>,
    /// The ports that frames are not flooded to.
    pub unflooded: BTreeSet<PortNumber>,
}

/// What becomes of the frames that a port may send, on a bridge with these flows.
pub const CHECK: Action = Action::goto(CLASSIFY);

/// The flows of a bridge with policies, in tables 10 to 40.
///
/// # Errors
/// The policies need more than a switch takes.
pub fn compile(bridge: &BridgePolicies<'_>) -> Result<PolicyFlows, TooLarge> {
    let parts = PolicyParts::of(bridge, None)?;
    Ok(PolicyFlows { flows: parts.flows(), groups: parts.groups(), unflooded: parts.unflooded() })
}

/// Whether a group is one of policies.
#[must_use]
pub fn is_group(id: GroupId) -> bool {
    flood::IDS.contains(&id.0)
}

/// Whether a flow differs with the zone of connections alone: a bridge that lacks all of these has
/// not used the zone before.
#[must_use]
pub fn is_of_zone(flow: &Flow) -> bool {
    destination::is_of_zone(flow)
}

/// The port for which a flow drops frames, and the direction of these; `None` of other flows.
#[must_use]
pub fn refused(flow: &InstalledFlow) -> Option<(PortNumber, Direction)> {
    let direction = match flow.table {
        CLASSIFY | EGRESS => Direction::Egress,
        DESTINATION | INGRESS => Direction::Ingress,
        _ => return None,
    };
    let is_refusal = flow.cookie.mark() == step::MARK && flow.instructions.is_drop();
    flow.cookie.port().filter(|_| is_refusal).map(|port| (port, direction))
}

/// Selects the flows of policies.
#[must_use]
pub const fn cookies() -> CookieFilter {
    CookieFilter::of_mark(step::MARK)
}
