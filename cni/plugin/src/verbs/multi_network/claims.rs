//! The ports of a pod's resource claims that need its network namespace: the agent has prepared the
//! claims, and left these ports to the call for the sandbox. IO: reads the records of claims.

use crate::attachment::node::Node;
use crate::protocol::environment::Environment;
use crate::protocol::error::ErrorCode;
use crate::protocol::network_selection::element::NetworkSelectionElement;
use serde_json::Map;
use std::collections::BTreeSet;
use usnet_dataplane::atomic_file;
use usnet_dataplane::attachment::InterfaceName;
use usnet_dataplane::claim_records::{ClaimPort, ClaimRecord, ClaimRecords};

#[derive(Debug, thiserror::Error)]
pub enum ClaimsError {
    #[error("cannot list the resource claims that are prepared on this node")]
    Records(#[from] atomic_file::Error),
    #[error(
        "{requested_by} of the pod: the pod already has an interface {interface}: name another one in the PortRequest of the claim"
    )]
    InterfaceNameInUse { requested_by: String, interface: InterfaceName },
}

impl ClaimsError {
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Records(_) => ErrorCode::IoFailure,
            Self::InterfaceNameInUse { .. } => ErrorCode::InvalidConfiguration,
        }
    }
}

/// A port of a claim, in the form of an element of the annotation.
#[derive(Debug)]
pub(super) struct ClaimedElement {
    /// The request of the claim, for messages.
    pub(super) requested_by: String,
    pub(super) element: NetworkSelectionElement,
}

/// The ports of the pod of this call. `used` are the names of the interfaces that it has.
pub(super) fn claimed_elements(
    node: &Node,
    environment: &Environment,
    mut used: BTreeSet<InterfaceName>,
) -> Result<Vec<ClaimedElement>, ClaimsError> {
    // Without a pod there are no claims. Other defects of the call are reported elsewhere.
    let Some(pod) = environment.arguments().ok().and_then(|arguments| arguments.pod().ok()) else {
        return Ok(Vec::new());
    };
    // A claim whose record cannot be read is not prepared, and its pod does not start.
    let (records, _unreadable) = ClaimRecords::new(&node.paths).all()?;
    let mut elements = Vec::new();
    for record in records.iter().filter(|record| record.pod.uid == pod.uid) {
        for port in record.ports.iter().filter(|port| port.is_with_sandbox) {
            let claimed = element(record, port);
            if !used.insert(port.interface.clone()) {
                return Err(ClaimsError::InterfaceNameInUse {
                    requested_by: claimed.requested_by,
                    interface: port.interface.clone(),
                });
            }
            elements.push(claimed);
        }
    }
    Ok(elements)
}

fn element(record: &ClaimRecord, port: &ClaimPort) -> ClaimedElement {
    ClaimedElement {
        requested_by: format!(
            "request {} ({} as {}) of resource claim {}",
            port.request, port.network, port.interface, record.name
        ),
        element: NetworkSelectionElement {
            network: port.network.clone(),
            interface: port.interface.clone(),
            runtime: port.requested.clone(),
            arguments: Map::new(),
        },
    }
}
