//! Errors of engines.

use crate::model::port::PortName;
use std::path::PathBuf;

/// The engine as a whole did not answer. It is unknown what it did.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Its control socket did not answer.
    #[error("Open vSwitch on this node cannot be used")]
    OpenVswitch(#[from] usnet_ovsdb::Error),
    /// Its database sent an unusable reply.
    #[error("the database of Open vSwitch on this node does not hold what it should")]
    OpenVswitchAnswer(#[from] usnet_ovsdb::ReplyError),
    /// Its database is empty, or has not been read yet.
    #[error(
        "the database of Open vSwitch on this node has no row in the table Open_vSwitch: start Open vSwitch's own service, which makes it"
    )]
    OpenVswitchEmpty,
    /// VPP's API socket did not answer.
    #[error("VPP on this node cannot be used")]
    Vpp(#[from] usnet_vpp::Error),
    /// VPP sent an unusable reply.
    #[error("VPP on this node does not answer as it should")]
    VppAnswer(#[from] usnet_vpp::ReplyError),
    /// The database took the request, but the switch did not act on it in time.
    #[error("{engine} took the request but did not act on it within {seconds} s: is its switch process running?")]
    NotActing {
        /// Which engine, or program of it.
        engine: &'static str,
        /// How long it was waited for.
        seconds: u64,
    },
}

/// One operation failed; the others are not affected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpError {
    /// An object of that name exists and is not owned by usnet.
    #[error(
        "{what} already exists on this node and does not belong to usnet; it was left alone: remove it, or use another name"
    )]
    Foreign {
        /// What is there, for example `bridge br0`.
        what: String,
    },
    /// The bridge does not exist or is not owned by usnet, so that no port can be added to it.
    #[error("bridge {bridge} is not there or does not belong to this network; the agent repairs it, try again")]
    BridgeMissing {
        /// Its name.
        bridge: String,
    },
    /// The adopted bridge does not support ports of usnet.
    #[error("bridge {bridge}, which somebody else has to make, cannot be used: {found}")]
    BridgeUnusable {
        /// Its name.
        bridge: String,
        /// What is there.
        found: String,
    },
    /// A port to change is not there, or not this attachment's.
    #[error("port {port} is not there or does not belong to this attachment; the agent repairs it, try again")]
    PortMissing {
        /// Its name.
        port: PortName,
    },
    /// The port to create exists already, for another attachment, on another bridge or with another
    /// socket.
    #[error("port {port} is there already and not as asked ({found}); it has to be removed first")]
    PortDiffers {
        /// Its name.
        port: PortName,
        /// What it is.
        found: String,
    },
    /// The port to create has the socket of another port. The switch would silently serve only one
    /// of them.
    #[error("socket {} is the socket of another port already", socket.display())]
    SocketInUse {
        /// The socket.
        socket: PathBuf,
    },
    /// The name does not fit into an ownership tag, by which the object would be found again.
    #[error(transparent)]
    TagTooLong(#[from] super::vpp::TagTooLong),
    /// The engine has no id left for the port's socket.
    #[error("all {count} memif socket ids of usnet are in use: give the agent a larger range with --memif-socket-ids")]
    NoSocketId {
        /// How many there are.
        count: usize,
    },
    /// A bridge to delete still has ports.
    #[error("bridge {bridge} still has ports, or is not this network's, and was left alone")]
    BridgeInUse {
        /// Its name.
        bridge: String,
    },
    /// The engine tried and failed. Its configuration stays, so that it can retry by itself; the
    /// caller deletes it if that is not desired.
    #[error("{what} could not be made: the engine says {reason:?}")]
    Refused {
        /// The object of the operation.
        what: String,
        /// The error text of the engine.
        reason: String,
    },
}
