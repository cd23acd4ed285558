//! What VPP does, or suffers, and Open vSwitch does not.

pub(super) mod adopted_guards;
pub(super) mod captures;
pub(super) mod concurrent;
pub(super) mod counters;
pub(super) mod faults;
pub(super) mod guarded_frames;
pub(super) mod guards;
pub(super) mod incomplete;
pub(super) mod limits;
pub(super) mod new_bridges;
pub(super) mod outages;
pub(super) mod peers;
pub(super) mod policies;
pub(super) mod policy_packets;
mod programs;
pub(super) mod queues;
mod routing;
pub(super) mod single_port;
pub(super) mod sockets;
pub(super) mod tags;
pub(super) mod taps;
pub(super) mod traffic;
pub(super) mod tunnel_traffic;
pub(super) mod tunnels;
pub(super) mod uplink_traffic;
pub(super) mod uplinks;

pub(super) use routing::{floods, gateways, neighbours, packets, routed_packets, routed_ports};
