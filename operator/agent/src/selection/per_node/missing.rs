//! Reasons why a node cannot have an overlay.

use ipnet::IpNet;
use std::borrow::Cow;
use usnet_crds::UplinkName;
use usnet_crds::conditions::message::node as message;
use usnet_crds::conditions::reason::{PEERS_UNKNOWN, UNDERLAY_EXHAUSTED, UPLINK_NOT_READY};

/// Why a node cannot have an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) reason: &'static str,
    pub(super) message: Cow<'static, str>,
    /// Whether what is missing is expected from the API server soon.
    pub(super) is_awaited: bool,
}

impl Missing {
    const fn peers(message: &'static str, is_awaited: bool) -> Self {
        Self { reason: PEERS_UNKNOWN, message: Cow::Borrowed(message), is_awaited }
    }

    pub(super) const fn api_server() -> Self {
        Self::peers(message::NO_API_SERVER, false)
    }

    pub(super) const fn slices() -> Self {
        Self::peers(message::SLICES_UNKNOWN, true)
    }

    pub(super) const fn own_node() -> Self {
        Self::peers(message::NODE_NOT_IN_SLICE, true)
    }

    /// The node has no address of the required family.
    pub(super) const fn address(message: &'static str) -> Self {
        Self::peers(message, false)
    }

    /// The subnet has no address for the number of this node.
    pub(super) fn address_in(node: &str, number: u32, subnet: IpNet) -> Self {
        let message = message::underlay_exhausted(node, number, &subnet).into();
        Self { reason: UNDERLAY_EXHAUSTED, message, is_awaited: false }
    }

    pub(super) const fn uplinks() -> Self {
        Self { reason: UPLINK_NOT_READY, message: Cow::Borrowed(message::UPLINKS_UNKNOWN), is_awaited: true }
    }

    pub(super) fn uplink(name: &UplinkName) -> Self {
        Self { reason: UPLINK_NOT_READY, message: message::uplink_missing(name).into(), is_awaited: true }
    }

    /// The uplink has no underlay.
    pub(super) fn underlay(name: &UplinkName) -> Self {
        Self { reason: UPLINK_NOT_READY, message: message::underlay_missing(name).into(), is_awaited: false }
    }
}
