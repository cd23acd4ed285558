//! The health of one network on the node, according to the last reconcile of its engine.

use usnet_crds::conditions::reason::WAITING;
use usnet_crds::node_state::NetworkState;

/// The health of one network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NetworkHealth {
    pub state: NetworkState,
    /// Why the network is not programmed; none if it is.
    pub cause: Option<Cause>,
    /// Whether pods can attach. They can while the bridge is up, even if a port of it is not.
    pub attachable: bool,
}

/// Why a network, an uplink or an attachment is not programmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    /// The reason for status fields, in CamelCase.
    pub reason: &'static str,
    /// A text for users.
    pub message: String,
}

impl NetworkHealth {
    pub(crate) const PROGRAMMED: Self = Self { state: NetworkState::Programmed, cause: None, attachable: true };

    /// The network cannot be programmed, and pods cannot attach.
    pub(crate) fn failed(reason: &'static str, message: impl Into<String>) -> Self {
        let cause = Some(Cause { reason, message: message.into() });
        Self { state: NetworkState::Failed, cause, attachable: false }
    }

    pub(crate) fn pending(message: String) -> Self {
        let cause = Some(Cause { reason: WAITING, message });
        Self { state: NetworkState::Pending, cause, attachable: false }
    }
}
