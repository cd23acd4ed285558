//! Reasons and messages for failed operations.

use usnet_crds::conditions::message::node as message;
use usnet_crds::conditions::reason::{
    BRIDGE_EXISTS, BRIDGE_UNUSABLE, ENGINE_REFUSED, SOCKET_UNUSABLE, VNI_TAKEN, WAITING,
};
use usnet_dataplane::engine::OpError;

pub(crate) fn of(error: &OpError) -> &'static str {
    match error {
        OpError::Foreign { .. } => BRIDGE_EXISTS,
        OpError::BridgeUnusable { .. } => BRIDGE_UNUSABLE,
        OpError::BridgeMissing { .. }
        | OpError::BridgeInUse { .. }
        | OpError::PortMissing { .. }
        | OpError::PortDiffers { .. } => WAITING,
        OpError::SocketUnusable { .. } => SOCKET_UNUSABLE,
        OpError::TunnelExists { .. } => VNI_TAKEN,
        OpError::NoSocketId { .. } | OpError::SocketInUse { .. } | OpError::Refused { .. } | OpError::TagTooLong(_) => {
            ENGINE_REFUSED
        }
    }
}

pub(crate) fn message(error: &OpError) -> String {
    match error {
        OpError::Foreign { what } => message::object_exists(what),
        OpError::BridgeUnusable { bridge, found } => message::bridge_unusable(bridge, found),
        OpError::BridgeMissing { bridge } => message::bridge_not_ready(bridge),
        OpError::BridgeInUse { bridge } => message::bridge_in_use(bridge),
        OpError::PortMissing { port } => message::port_not_found(port),
        OpError::PortDiffers { port, found } => message::port_differs(port, found),
        OpError::NoSocketId { count } => message::no_socket_id(*count),
        OpError::SocketInUse { socket } => message::socket_in_use(socket),
        OpError::TunnelExists { tunnel, interface } => message::tunnel_exists(tunnel, interface),
        OpError::SocketUnusable { what, reason } | OpError::Refused { what, reason } => {
            message::engine_refused(what, reason)
        }
        OpError::TagTooLong(error) => error.to_string(),
    }
}
