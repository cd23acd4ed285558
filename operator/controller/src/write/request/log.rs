//! The log lines of writes.

use super::attachment;
use crate::cache::attachments::ObjectName;
use crate::write::operation::{FinalizerChange, Write};
use usnet_crds::conditions::{READY, find as find_condition};
use usnet_crds::{UserspaceNetworkStatus, UserspaceReservationStatus};

/// Logs each successful write once.
pub(super) fn log(write: &Write) {
    match write {
        Write::Finalizer { network, change: FinalizerChange::Add, .. } => {
            tracing::info!(network, "added the finalizer");
        }
        Write::Finalizer { network, .. } => tracing::info!(network, "removed the finalizer: the network is deleted"),
        Write::Compiled { network, spec, .. } => {
            tracing::info!(network, generation = spec.generation, "compiled the network for all nodes");
        }
        Write::DrainCompiled { network, .. } => {
            tracing::info!(network, "set the phase of the network to Draining on all nodes");
        }
        Write::DeleteCompiled { network, .. } => tracing::info!(network, "deleted the compiled network"),
        Write::NodeState { node, number, .. } => tracing::info!(node, number, "wrote the node state"),
        Write::DeleteNodeState { node } => {
            tracing::info!(node, "deleted the state of a node that was removed or recreated");
        }
        Write::Attachment(write) => attachment::log(write),
        Write::NodeSlice { slice, spec, .. } => {
            tracing::info!(slice, nodes = spec.nodes.len(), "wrote the slice of nodes");
        }
        Write::DeleteNodeSlice { slice, .. } => tracing::info!(slice, "deleted the slice of nodes"),
        Write::UplinkFinalizer { uplink, change: FinalizerChange::Add, .. } => {
            tracing::info!(uplink, "added the finalizer of the uplink");
        }
        Write::UplinkFinalizer { uplink, .. } => {
            tracing::info!(uplink, "removed the finalizer: the uplink is deleted");
        }
        Write::UplinkStatus { uplink, status, .. } => {
            let Some(condition) = find_condition(&status.conditions, READY) else { return };
            let (ready, reason) = (&condition.status, &condition.reason);
            tracing::debug!(uplink, ready, reason, "{}", condition.message);
        }
        Write::ReservationStatus { name, status, .. } => log_reservation(name, status),
        Write::Nad { key, .. } => {
            tracing::debug!(network = key.name, namespace = key.namespace, "wrote the NetworkAttachmentDefinition");
        }
        Write::DeleteNad { key } => {
            tracing::debug!(network = key.name, namespace = key.namespace, "deleted the NetworkAttachmentDefinition");
        }
        Write::NetworkFromNad { network, uid: None, .. } => {
            tracing::info!(network, "created a network for NetworkAttachmentDefinitions");
        }
        Write::NetworkFromNad { network, .. } => {
            tracing::info!(network, "restored a network of NetworkAttachmentDefinitions");
        }
        Write::DeleteNetwork { network, .. } => {
            tracing::info!(network, "deleted a network that no NetworkAttachmentDefinition requests");
        }
        Write::Status { network, status, .. } => log_status(network, status),
    }
}

fn log_status(network: &str, status: &UserspaceNetworkStatus) {
    if let Some(condition) = find_condition(&status.conditions, READY) {
        let (ready, reason) = (&condition.status, &condition.reason);
        tracing::debug!(network, ready, reason, "{}", condition.message);
    }
}

fn log_reservation(name: &ObjectName, status: &UserspaceReservationStatus) {
    if let Some(condition) = find_condition(&status.conditions, READY) {
        let (ready, reason) = (&condition.status, &condition.reason);
        tracing::debug!(reservation = %name, ready, reason, "{}", condition.message);
    }
}
