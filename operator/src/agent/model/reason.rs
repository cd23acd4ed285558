//! Reasons that only the agent sets, in CamelCase as Kubernetes requires; those that others read
//! too are in `usnet_crds::conditions::reason`.

pub(crate) use usnet_crds::conditions::reason::ENGINE_UNREACHABLE;
use usnet_crds::conditions::reason::{BRIDGE_EXISTS, BRIDGE_UNUSABLE};
use usnet_dataplane::engine::OpError;

/// A network: the engine refused an operation.
pub(crate) const ENGINE_REFUSED: &str = "EngineRefused";
/// A network: its bridge is up, but the port of an attached pod is not.
pub(crate) const PORT_FAILED: &str = "PortFailed";
/// A network: operations for it are not complete.
pub(crate) const WAITING: &str = "Waiting";
/// A network being deleted: pods still use it.
pub(crate) const IN_USE: &str = "InUse";
/// Ready of a node: the agent cannot use a file of its own.
pub(crate) const AGENT_FAILED: &str = "AgentFailed";
/// OVSConnected, VPPConnected: there is a connection, but the engine does not carry out changes.
pub(crate) const ENGINE_STALLED: &str = "NotActing";

/// The reason for an operation that failed.
pub(crate) fn of(error: &OpError) -> &'static str {
    match error {
        OpError::Foreign { .. } => BRIDGE_EXISTS,
        OpError::BridgeUnusable { .. } => BRIDGE_UNUSABLE,
        OpError::BridgeMissing { .. }
        | OpError::BridgeInUse { .. }
        | OpError::PortMissing { .. }
        | OpError::PortDiffers { .. } => WAITING,
        OpError::NoSocketId { .. } | OpError::SocketInUse { .. } | OpError::Refused { .. } | OpError::TagTooLong(_) => {
            ENGINE_REFUSED
        }
    }
}
