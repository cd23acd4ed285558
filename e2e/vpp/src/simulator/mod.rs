//! A simulator of VPP's binary API: real sockets and real messages, with the state behind them and
//! no packets.
//!
//! It has the messages of [`usnet_vpp::messages`] and behaves as VPP 26.06 was seen to behave, the
//! defects included, because a client has to cope with them. It is trusted only as far as
//! `tests/behaviour` passes on a real VPP.
//!
//! The defects, by topic. All were found on VPP 26.06.
//!
//! The API over the socket
//! - Message ids change with each start. A message that is not in the table is not answered, and
//!   neither is one that is too short or has a client index that is not its sender's.
//! - A second subscription to interface events is refused, and the flags of an event are not the
//!   interface's state.
//!
//! memif
//! - Adding a socket id checks neither characters, length nor folder: the interface on it is
//!   refused later.
//! - That refusal leaves the socket id miscounted. The next interface on it is created and listens
//!   nowhere; one more with the same id ends VPP, and one with another id listens until both are
//!   deleted, which ends VPP as well. The socket id can be removed meanwhile although an interface
//!   uses it; if it is added and used again, VPP ends.
//! - A mode that is neither Ethernet nor IP ends VPP. The ring size has no limit.
//! - The index in a refusal is not that of an existing interface.
//! - The socket file stays when the last interface on it is deleted. If any process listens there,
//!   the next interface is refused.
//! - Names are returned cut to 107 bytes. Requested sizes of rings and buffers are not returned
//!   before a peer connects.
//!
//! vhost-user
//! - A path of more than 107 bytes is cut for listening but not for removing the file.
//! - Any file at the path is removed first, even the socket of another listener.
//! - The link's MTU cannot be set. A client's path is not checked.
//!
//! af_packet
//! - A device has one interface, which is deleted by the device's name, even if the device no
//!   longer exists. Without the device, no interface can be created.
//!
//! Interfaces and bridge domains
//! - The next interface gets the index of a deleted one, and the last deleted is used first.
//! - A dump of interface 0 is one of all interfaces.
//! - Adding an interface to a bridge domain that does not exist creates the domain. Domain 0 drops
//!   all frames, and adding an interface to it is not an error.
//! - Adding a bridge domain that exists changes nothing and is refused. Domain 0 exists.
//! - Removing an interface from its bridge domain clears its VLAN tag rewrite, and so does a
//!   rewrite that is refused. Deleting an interface that is in none does not: the next interface
//!   with its index has the rewrite.
//! - A VLAN tag is not checked but cut to 16 bits.
//!
//! Statistics
//! - The memory is sent to each client without any data. A vector that grows is moved, and its
//!   former memory is overwritten.
//! - A deleted interface loses its entries, and the next one with its index starts at 0.
//!
//! It does not simulate peers (a connection to a memif or vhost-user socket waits indefinitely, so
//! that no such link comes up), the crash that a memif peer can cause, the hang when a client
//! disconnects silently, the network namespace that is kept open, and commands (`cli_inband` shows
//! bridge domains and how many sessions of access lists there are, which is none).

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
