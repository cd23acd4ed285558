//! Gateways and routing tables of VPP.
//!
//! The gateway of a network is a loopback interface that is the BVI of the network's bridge domain.
//! It is found again by its tag, and a table by its name. A loopback is tagged after its creation:
//! an untagged one with the MAC address of a network's gateway, in no bridge domain, is an
//! interrupted creation, which the next one completes. VPP chooses numbers of interfaces; ids of
//! tables are derived from their names, unless those are in use.
//!
//! `read` and `routed_tickets` perform IO; `names`, `snapshot`, `plan`, `routed` (ports in IP mode)
//! and `observe` do not; `command` has the messages.

mod command;
mod names;
mod neighbours;
mod observe;
mod plan;
mod read;
mod routed;
mod routed_tickets;
mod snapshot;

pub(super) use command::RoutingCommand;
pub(super) use names::gateway;
pub(super) use observe::observe;
pub(super) use plan::{RoutingDecision, plan};
pub(super) use read::{TablesTicket, read, read_bindings};
pub(super) use routed::RoutedPort;
pub(super) use snapshot::RoutingSnapshot;
