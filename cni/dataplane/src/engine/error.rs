//! Errors of engines.

use crate::model::port::PortName;
use std::error::Error;
use std::path::PathBuf;
use usnet_crds::EngineKind;

/// The engine as a whole did not answer. It is unknown what it did.
///
/// The folder of each engine converts the errors of its session into this one.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Its control socket did not answer, or it cannot serve requests.
    #[error("{engine} on this node cannot be used")]
    Unavailable {
        engine: EngineKind,
        /// Why not, in the terms of the engine.
        source: Box<dyn Error + Send + Sync>,
    },
    /// It answered, but with what its protocol does not allow.
    #[error("{engine} on this node sent an invalid reply")]
    InvalidReply {
        engine: EngineKind,
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// It accepted the request, but did not act on it in time.
    #[error("{engine} accepted the request but did not act on it within {seconds} s: is its switch process running?")]
    NotActing {
        engine: EngineKind,
        /// How long the driver waited.
        seconds: u64,
    },
}

/// A name that does not fit into an ownership tag, by which the object would be found again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} cannot be tagged in {engine}, whose tags have {limit} bytes: {remedy}")]
pub struct TagTooLong {
    pub engine: EngineKind,
    /// The owner, for example `network blue`.
    pub what: String,
    /// The longest tag, in bytes.
    pub limit: usize,
    pub remedy: &'static str,
}

/// One operation failed; the others are not affected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpError {
    /// An object of that name exists and is not owned by usnet.
    #[error(
        "{what} already exists on this node and is not owned by usnet; it was not changed: remove it, or use another name"
    )]
    Foreign {
        /// The object, for example `bridge br0`.
        what: String,
    },
    /// The bridge does not exist or is not owned by usnet, so that no port can be added to it.
    #[error("bridge {bridge} does not exist or is not owned by this network; the agent repairs it, try again")]
    BridgeMissing { bridge: String },
    /// The adopted bridge does not support ports of usnet.
    #[error("bridge {bridge}, which the network adopts, cannot be used: {found}")]
    BridgeUnusable { bridge: String, found: String },
    /// A port to update does not exist or is not owned by this attachment.
    #[error("port {port} does not exist or is not owned by this attachment; the agent repairs it, try again")]
    PortMissing { port: PortName },
    /// The port to create exists already, for another attachment, on another bridge or with another
    /// socket.
    #[error("port {port} already exists and differs from the requested port ({found}); it must be removed first")]
    PortDiffers { port: PortName, found: String },
    /// The port to create has the socket of another port. The switch would silently serve only one
    /// of them.
    #[error("socket {} is already used by another port", socket.display())]
    SocketInUse { socket: PathBuf },
    /// VPP has this tunnel already, for others. It is not changed.
    #[error(
        "{tunnel} is there already as interface {interface}, which is not owned by usnet; it was not changed: remove it, or use another VNI"
    )]
    TunnelExists { tunnel: String, interface: String },
    /// The owner does not fit into an ownership tag.
    #[error(transparent)]
    TagTooLong(#[from] TagTooLong),
    /// The engine has no id left for the port's socket.
    #[error(
        "all {count} memif socket ids of usnet are in use: configure a larger range with --memif-socket-ids of the agent"
    )]
    NoSocketId {
        /// How many ids usnet owns.
        count: usize,
    },
    /// A bridge to delete still has ports.
    #[error("bridge {bridge} still has ports or is not owned by this network; it was not changed")]
    BridgeInUse { bridge: String },
    /// The engine cannot listen on the socket of a port: its volume is gone, or the pod has left
    /// something else at its path. No other port is affected.
    #[error("{what} could not be created: the engine reports {reason:?}")]
    SocketUnusable {
        what: String,
        /// The error text of the engine.
        reason: String,
    },
    /// The engine failed. What was configured is kept, so that it can retry by itself; the caller
    /// deletes it if that is not desired.
    #[error("{what} could not be configured: the engine reports {reason:?}")]
    Refused {
        /// The object of the operation.
        what: String,
        /// The error text of the engine.
        reason: String,
    },
}
