//! Whether a pod may attach to a network on this node now.

mod legacy_bridge;

use crate::cni::configuration::Target;
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_crds::{BridgeName, Engine, NetworkName, Phase};
use usnet_dataplane::attachment::Pod;
use usnet_dataplane::network_file::{self, NetworkFile, NetworkFiles, ProgrammedNetwork};

/// How long to wait for a network that the agent is about to program: a pod may be created right
/// after its network.
pub const TIMEOUT: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(50);

/// Why a pod may not attach.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// The agent has not published the network on this node.
    #[error(
        "network \"{0}\" is not known on this node. Check that UserspaceNetwork {0} exists (kubectl get usn {0}), that its nodeSelector selects this node, and that the usnet agent runs here"
    )]
    Unknown(NetworkName),
    /// No network uses the bridge that a legacy configuration names.
    #[error(
        "no network that pods can use on this node has bridge {bridge} of {engine}. The operator makes UserspaceNetwork {network} for it: look at its conditions (kubectl describe usn {network}), at the events of the NetworkAttachmentDefinition, and whether the usnet agent runs here"
    )]
    NoBridge {
        /// The engine.
        engine: Engine,
        /// The bridge.
        bridge: BridgeName,
        /// The network that would be created for it.
        network: NetworkName,
    },
    /// The network of the bridge does not have the settings of the configuration.
    #[error(
        "the network configuration does not fit network \"{network}\", which bridge {bridge} belongs to: {differences}. Change the NetworkAttachmentDefinition, or name another bridge in it"
    )]
    SettingMismatch {
        /// The network.
        network: NetworkName,
        /// Its bridge.
        bridge: BridgeName,
        /// The settings that differ.
        differences: String,
    },
    /// The agent reports that pods cannot attach now.
    #[error("network \"{network}\" cannot be used on this node now ({reason}): {message}")]
    Unavailable {
        /// The network.
        network: NetworkName,
        /// The machine-readable reason.
        reason: String,
        /// The human-readable message.
        message: String,
    },
    /// The network is being deleted.
    #[error(
        "network \"{0}\" is being deleted and takes no new pods: use another network, or create it again once it is gone"
    )]
    Draining(NetworkName),
    /// The network is not for the pod's namespace.
    #[error(
        "pod {pod} may not attach to network \"{network}\": namespace \"{}\" is not selected by its namespaceSelector. Label the namespace, or change spec.namespaceSelector of UserspaceNetwork {network}",
        pod.namespace
    )]
    Namespace {
        /// The pod.
        pod: Pod,
        /// The network.
        network: NetworkName,
    },
    /// The file of the network cannot be read.
    #[error(transparent)]
    File(#[from] network_file::Error),
}

impl AdmissionError {
    /// Whether the condition may be transient.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unknown(_) | Self::NoBridge { .. } | Self::Unavailable { .. })
    }
}

/// The network, waiting up to `timeout` until the agent reports that pods may attach.
///
/// # Errors
/// Why `pod` may not attach.
pub fn admit(
    files: &NetworkFiles,
    target: &Target,
    pod: &Pod,
    timeout: Duration,
) -> Result<ProgrammedNetwork, AdmissionError> {
    let deadline = Instant::now() + timeout;
    loop {
        match find_available(files, target) {
            Err(error) if error.is_transient() && Instant::now() < deadline => sleep(POLL),
            other => return other.and_then(|programmed| check_namespace(programmed, pod)),
        }
    }
}

/// The network, if pods of the allowed namespaces may attach now.
///
/// # Errors
/// Why they may not.
pub fn find_available(files: &NetworkFiles, target: &Target) -> Result<ProgrammedNetwork, AdmissionError> {
    match target {
        Target::Network(network) => check_phase(files.read(network)?, network),
        Target::Bridge(legacy) => legacy_bridge::find_network(files, legacy),
    }
}

fn check_namespace(programmed: ProgrammedNetwork, pod: &Pod) -> Result<ProgrammedNetwork, AdmissionError> {
    if programmed.network.allows(&pod.namespace) {
        Ok(programmed)
    } else {
        Err(AdmissionError::Namespace { pod: pod.clone(), network: programmed.network.name })
    }
}

fn check_phase(file: Option<NetworkFile>, network: &NetworkName) -> Result<ProgrammedNetwork, AdmissionError> {
    match file {
        None => Err(AdmissionError::Unknown(network.clone())),
        Some(NetworkFile::Unavailable { name, reason, message }) => {
            Err(AdmissionError::Unavailable { network: name, reason, message })
        }
        Some(NetworkFile::Draining { name }) => Err(AdmissionError::Draining(name)),
        Some(NetworkFile::Programmed(programmed)) if programmed.network.phase == Phase::Draining => {
            Err(AdmissionError::Draining(programmed.network.name))
        }
        Some(NetworkFile::Programmed(programmed)) => Ok(programmed),
    }
}
