//! The ports of a pod's resource claims that need its network namespace: the agent has prepared the
//! claims, and left these ports to the call for the sandbox.

use crate::attachment::node::Node;
use crate::protocol::environment::Environment;
use crate::protocol::error::ErrorCode;
use crate::protocol::network_selection::element::NetworkSelectionElement;
use serde_json::Map;
use std::collections::BTreeSet;
use usnet_dataplane::atomic_file;
use usnet_dataplane::attachment::InterfaceName;
use usnet_dataplane::claim_records::{ClaimPort, ClaimRecord, ClaimRecords};

/// Why the ports of claims cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum ClaimsError {
    /// The records of claims.
    #[error("cannot list the resource claims that are prepared on this node")]
    Records(#[from] atomic_file::Error),
    /// Another interface of the pod has its name.
    #[error(
        "{place} of the pod: the pod already has an interface {interface}: name another one in the PortRequest of the claim"
    )]
    InterfaceNameInUse {
        /// Which port.
        place: String,
        /// The interface.
        interface: InterfaceName,
    },
}

impl ClaimsError {
    /// The CNI code.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Records(_) => ErrorCode::IoFailure,
            Self::InterfaceNameInUse { .. } => ErrorCode::InvalidConfiguration,
        }
    }
}

/// A port of a claim, as an element of the annotation would select it.
#[derive(Debug)]
pub(super) struct ClaimedElement {
    /// For messages.
    pub(super) place: String,
    pub(super) element: NetworkSelectionElement,
}

/// Those of the pod of this call. `used` are the names of its interfaces.
///
/// # Errors
/// When the records cannot be listed, or a name is in use.
pub(super) fn claimed_elements(
    node: &Node,
    environment: &Environment,
    mut used: BTreeSet<InterfaceName>,
) -> Result<Vec<ClaimedElement>, ClaimsError> {
    // Without a pod there are no claims; what else is wrong with the call is reported elsewhere.
    let Some(pod) = environment.arguments().ok().and_then(|arguments| arguments.pod().ok()) else {
        return Ok(Vec::new());
    };
    // A record that cannot be read was not prepared either, and its pod does not start.
    let (records, _unreadable) = ClaimRecords::new(&node.roots).all()?;
    let mut elements = Vec::new();
    for record in records.iter().filter(|record| record.pod.uid == pod.uid) {
        for port in record.ports.iter().filter(|port| port.is_with_sandbox) {
            let claimed = element(record, port);
            if !used.insert(port.interface.clone()) {
                return Err(ClaimsError::InterfaceNameInUse {
                    place: claimed.place,
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
        place: format!(
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
