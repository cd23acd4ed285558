//! The health of one network on the node, as the last reconcile of its engine found it.

use usnet_crds::conditions::reason::WAITING;
use usnet_crds::node_state::NetworkState;

/// The health of one network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NetworkHealth {
    /// Its state, as it is reported.
    pub state: NetworkState,
    /// Why it is not programmed; none when it is.
    pub why: Option<Why>,
    /// Whether pods can attach: the bridge is up, even where a port of it is not.
    pub attachable: bool,
}

/// Why a network is not programmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Why {
    /// The reason, for status fields: one word in CamelCase.
    pub reason: &'static str,
    /// For users.
    pub message: String,
}

impl NetworkHealth {
    /// Everything matches the spec.
    pub(crate) const PROGRAMMED: Self = Self { state: NetworkState::Programmed, why: None, attachable: true };

    /// It cannot be programmed, and pods cannot attach.
    pub(crate) fn failed(reason: &'static str, message: impl Into<String>) -> Self {
        let why = Some(Why { reason, message: message.into() });
        Self { state: NetworkState::Failed, why, attachable: false }
    }

    pub(crate) fn pending(message: String) -> Self {
        let why = Some(Why { reason: WAITING, message });
        Self { state: NetworkState::Pending, why, attachable: false }
    }
}
