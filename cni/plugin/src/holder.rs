//! Who on this node holds an address that a pod is meant to have.

use crate::error::Error;
use crate::node::Node;
use std::net::IpAddr;
use usnet_crds::NetworkName;
use usnet_dataplane::attachment::{Pod, Progress, Record};

/// Refuses an address that another pod of the network has on this node. IPAM plugins know the address to be taken, but not by whom.
///
/// # Errors
/// [`Error::AddressHeld`] with the pod that has it, or when the journal cannot be read.
pub fn refuse_held(node: &Node, network: &NetworkName, pod: &Pod, wanted: &[IpAddr]) -> Result<(), Error> {
    if wanted.is_empty() {
        return Ok(());
    }
    let holds = |record: &Record, wanted: &IpAddr| record.addresses.iter().any(|address| address.ip == *wanted);
    let is_others = |record: &&Record| {
        record.network == *network && record.pod.uid != pod.uid && record.progress != Progress::Detached
    };
    let all = node.journal.records()?;
    for record in all.records.iter().filter(is_others) {
        if let Some(address) = wanted.iter().find(|wanted| holds(record, wanted)) {
            let (network, holder) = (network.clone(), record.pod.clone());
            return Err(Error::AddressHeld { address: *address, network, holder });
        }
    }
    Ok(())
}
