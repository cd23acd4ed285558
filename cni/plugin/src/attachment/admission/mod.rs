//! Whether a pod may attach to a network on this node now. IO: reads the network files.

mod error;
mod legacy_bridge;
mod phase;

pub use error::AdmissionError;
use phase::check_phase;

use crate::attachment::node::Node;
use crate::protocol::configuration::Target;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_crds::NodeNetwork;
use usnet_dataplane::attachment::Pod;
use usnet_dataplane::network_file::{NetworkFiles, ProgrammedNetwork};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::unselected::Unselected;

/// How long to wait for a network that the agent is about to program: a pod may be created right
/// after its network. kubelet retries a failed ADD only after several seconds and with an event on
/// the pod, and a short wait saves both. A longer one would delay the error of every pod whose
/// network does not exist.
pub const TIMEOUT: Duration = Duration::from_secs(3);
/// A network file is small and in memory: 20 reads a second cost nothing, and the wait ends at most
/// this much too late.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Returns the network, and waits up to `timeout` until the agent reports that pods may attach.
pub fn admit(node: &Node, target: &Target, pod: &Pod, timeout: Duration) -> Result<ProgrammedNetwork, AdmissionError> {
    let deadline = Instant::now() + timeout;
    loop {
        match find_available(&node.networks, target) {
            Err(error) if error.is_transient() && Instant::now() < deadline => sleep(POLL_INTERVAL),
            Err(error) => return Err(with_reason(&node.paths, error)),
            Ok(programmed) => return check_namespace(programmed, pod),
        }
    }
}

/// Adds the agent's reason why a network is not on this node.
fn with_reason(paths: &NodePaths, error: AdmissionError) -> AdmissionError {
    let AdmissionError::Unknown(network) = error else { return error };
    match Unselected::reason(paths, &network) {
        Ok(Some(reason)) => AdmissionError::NotSelected { network, reason },
        // Without the file, or with one of another release, the reason is not known.
        Ok(None) | Err(_) => AdmissionError::Unknown(network),
    }
}

/// Returns the network, if pods of the allowed namespaces may attach now.
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
        let NodeNetwork { name, namespaces, .. } = Arc::unwrap_or_clone(programmed.network);
        Err(AdmissionError::Namespace { pod: pod.clone(), network: name, selector: namespaces.selector })
    }
}
