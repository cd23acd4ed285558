//! VXLAN tunnels of networks whose overlay VPP encapsulates itself: one to each other node, as a
//! member of the bridge domain.
//!
//! All tunnels of a network are in one split-horizon group, so that a frame from one node is not
//! sent to a third one. A tunnel is tagged after its creation; until then the number in its name
//! says that it is one of usnet.
//!
//! `tunnel` and `command` have the messages, `plan` is pure.

mod command;
mod plan;
mod tunnel;

pub(super) use command::TunnelCommand;
pub(super) use plan::{connect, observe, remove};
pub(super) use tunnel::{Tunnel, TunnelKey, TunnelsTicket, missing_message};
