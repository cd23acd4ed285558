//! The reasons why a pod may not attach to a network.

use crate::protocol::error::ErrorCode;
use usnet_crds::{BridgeName, EngineKind, NetworkName, cni_error};
use usnet_dataplane::attachment::Pod;
use usnet_dataplane::network_file;

#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// The agent has not published the network on this node.
    #[error(
        "network \"{0}\" is not known on this node. Check that UserspaceNetwork {0} exists (kubectl get usn {0}), that its nodeSelector selects this node, and that the usnet agent runs on it"
    )]
    Unknown(NetworkName),
    /// The network is not for this node. The reason is the agent's.
    #[error("network \"{network}\" is not on this node: {reason}")]
    NotSelected { network: NetworkName, reason: String },
    /// No network uses the bridge that a legacy configuration names.
    #[error(
        "no usable network on this node has bridge {bridge} of {engine}. The operator creates UserspaceNetwork {network} for it: check its conditions (kubectl describe usn {network}), the events of the NetworkAttachmentDefinition, and that the usnet agent runs on this node"
    )]
    NoBridge {
        engine: EngineKind,
        bridge: BridgeName,
        /// The network that the operator would create for the bridge.
        network: NetworkName,
    },
    /// The network of the bridge does not have the settings of the legacy configuration.
    #[error(
        "the network configuration does not match network \"{network}\" of bridge {bridge}: {differences}. Change the NetworkAttachmentDefinition, or name another bridge in it"
    )]
    SettingMismatch { network: NetworkName, bridge: BridgeName, differences: String },
    /// The agent reports that pods cannot attach now.
    #[error("network \"{network}\" cannot be used on this node now ({reason}): {message}")]
    Unavailable {
        network: NetworkName,
        /// The machine-readable reason.
        reason: String,
        /// The human-readable message.
        message: String,
    },
    #[error(
        "network \"{0}\" is being deleted and accepts no new pods: use another network, or recreate it after its deletion"
    )]
    Draining(NetworkName),
    #[error(
        "pod {pod} may not attach to network \"{network}\": namespace \"{namespace}\" is not selected by its namespaceSelector{}. Label the namespace (kubectl label namespace {namespace} …), or change spec.namespaceSelector of UserspaceNetwork {network}",
        in_parentheses(selector),
        namespace = pod.namespace
    )]
    Namespace {
        pod: Pod,
        network: NetworkName,
        /// The labels that the network requires; empty if unknown.
        selector: String,
    },
    #[error(transparent)]
    File(#[from] network_file::Error),
}

impl AdmissionError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown(_) | Self::NotSelected { .. } | Self::NoBridge { .. } | Self::Unavailable { .. } => {
                ErrorCode::TryAgainLater
            }
            Self::SettingMismatch { .. } => ErrorCode::InvalidConfiguration,
            Self::Draining(_) => ErrorCode::NetworkDraining,
            Self::Namespace { .. } => ErrorCode::NamespaceNotAllowed,
            Self::File(_) => ErrorCode::IoFailure,
        }
    }

    /// The reason in one word.
    pub fn reason(&self) -> &str {
        match self {
            Self::Unknown(_) => cni_error::NETWORK_UNKNOWN,
            Self::NotSelected { .. } => cni_error::NODE_NOT_SELECTED,
            Self::NoBridge { .. } => cni_error::NO_NETWORK_OF_BRIDGE,
            Self::Unavailable { reason, .. } => reason,
            other => other.code().reason(),
        }
    }

    /// Whether the agent may be about to change this.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unknown(_) | Self::NoBridge { .. } | Self::Unavailable { .. })
    }
}

fn in_parentheses(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}
