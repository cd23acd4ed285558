//! A simulator of VPP's binary API: real sockets, real messages, the state behind them, and no
//! packets.
//!
//! It has the messages of [`usnet_vpp::messages`] and behaves as VPP 26.06 was seen to behave, the
//! bad parts included, because those are what a client has to cope with. It is trusted only as far
//! as `tests/behaviour` passes on a real VPP.
//!
//! The bad parts, by the topic under which each was found on VPP 26.06:
//!
//! The API over the socket
//! - Ids of messages are those of one life; a message that is not in the table is not answered, and
//!   neither is one that is too short or has a client index that is not its sender's.
//! - A second subscription to interface events is refused, and the flags of an event are not the
//!   interface's state.
//!
//! memif
//! - Adding a socket id checks neither characters, length nor folder: the interface on it is
//!   refused later.
//! - That refusal leaves the socket id miscounted. The next interface on it is made and listens
//!   nowhere; one more of the same number ends VPP, and one of another number listens, until both
//!   are deleted, which ends VPP as well. The socket id can be removed meanwhile although an
//!   interface uses it; added and used again, it ends VPP.
//! - A mode that is neither Ethernet nor IP ends VPP. Nothing bounds the ring size.
//! - The index in a refusal is not one of an interface that exists.
//! - The socket file stays when the last interface on it goes. A listener there, of whatever kind,
//!   refuses the next one.
//! - Names come back cut to 107 bytes. What was asked for in rings and buffers does not come back
//!   before a peer connects.
//!
//! vhost-user
//! - A path of more than 107 bytes is cut for listening but not for removing the file.
//! - Whatever file is at the path is removed first, also the socket of another listener.
//! - The link's MTU cannot be set. A client's path is not checked.
//!
//! af_packet
//! - A device has one interface, which goes by the device's name and also when the device is gone.
//!   No device is no interface.
//!
//! Interfaces and bridge domains
//! - The index of a deleted interface is the next one's, and the last deleted comes first.
//! - A dump of interface 0 is one of all interfaces.
//! - Putting an interface into a bridge domain that is not there makes it. Into domain 0 is a black
//!   hole and no error.
//! - Adding a bridge domain that is there changes nothing and is refused. Domain 0 counts as one
//!   that is there.
//! - Taking an interface out of its bridge domain clears its VLAN tag rewrite, and so does a
//!   rewrite that is refused. Deleting an interface that is in none does not: the next interface
//!   with its index has the rewrite.
//! - A tag of a VLAN is not checked but cut to 16 bits.
//!
//! Statistics
//! - The memory is sent to each client, with nothing else. A vector that grows is moved, and
//!   what it leaves is overwritten.
//! - A deleted interface loses its entries, and the next one with its index starts at 0.
//!
//! What it does not simulate: peers (a connection to a memif or vhost-user socket waits
//! indefinitely, so no link of theirs comes up), the crash that a memif peer can cause, the hang
//! when a client disconnects silently, the network namespace that is kept open, and commands
//! (`cli_inband` shows bridge domains and nothing else).

mod fault;
mod handlers;
mod lifecycle;
mod listener;
mod log;
mod model;
mod server;
mod stats;

pub use fault::{Breakage, Fault, Moment, ParseFaultError};
pub use lifecycle::Simulator;
pub use log::LogEntry;
