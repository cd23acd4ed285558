//! The paths of claims' ports in containers. No IO.

use std::path::{Path, PathBuf};
use usnet_crds::device::CONTAINER_FOLDER;
use usnet_dataplane::claim_records::{ClaimPort, ClaimRecord};

/// The directory of a port in the containers that list its claim. It does not change when a pod is
/// recreated, except for a claim without a template. For an extended resource the directory is
/// named after the network, because Kubernetes generates the claim's name.
pub(super) fn container_directory(record: &ClaimRecord, port: &ClaimPort) -> PathBuf {
    let claim = record.pod_claim_name.as_ref().unwrap_or(&record.name);
    let name = if record.is_of_extended_resource { port.network.as_str() } else { claim };
    Path::new(CONTAINER_FOLDER).join(name).join(&port.directory)
}
