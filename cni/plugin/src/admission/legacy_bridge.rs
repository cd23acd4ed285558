//! Finds the network of a bridge, for configurations of the older userspace CNI, which know bridges alone.
//!
//! On one node a bridge of one engine belongs to one network only, so that what is found is the only one there can be.

use super::{AdmissionError, judge_network};
use usnet_crds::legacy::Legacy;
use usnet_crds::{NetworkName, NodeNetwork};
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles, ProgrammedNetwork};

pub(super) fn judge(files: &NetworkFiles, legacy: &Legacy) -> Result<ProgrammedNetwork, AdmissionError> {
    let usual = legacy.network_name();
    let file = files.read(&usual)?;
    if let Some(network) = of_bridge(file.as_ref(), legacy) {
        fits(network, legacy)?;
        return judge_network(file, &usual);
    }
    for name in files.list()?.into_iter().filter(|name| *name != usual) {
        // A file that cannot be read is about a network that pods cannot use; it must not hold up the others.
        let Ok(file) = files.read(&name) else { continue };
        if let Some(network) = of_bridge(file.as_ref(), legacy) {
            fits(network, legacy)?;
            return judge_network(file, &name);
        }
    }
    match file {
        Some(NetworkFile::Draining { .. } | NetworkFile::Unavailable { .. }) => judge_network(file, &usual),
        _ => Err(no_bridge(legacy, usual)),
    }
}

fn of_bridge<'a>(file: Option<&'a NetworkFile>, legacy: &Legacy) -> Option<&'a NodeNetwork> {
    let Some(NetworkFile::Programmed(ProgrammedNetwork { network, .. })) = file else { return None };
    (network.engine == legacy.engine && network.bridge.name == legacy.bridge).then_some(network)
}

/// A pod must not land in another VLAN, or wait at a socket of another kind, without a word.
fn fits(network: &NodeNetwork, legacy: &Legacy) -> Result<(), AdmissionError> {
    let differences = legacy.settings.mismatches(network.engine, &network.bridge, &network.port);
    if differences.is_empty() {
        return Ok(());
    }
    Err(AdmissionError::Disagrees {
        network: network.name.clone(),
        bridge: network.bridge.name.clone(),
        differences: differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    })
}

fn no_bridge(legacy: &Legacy, network: NetworkName) -> AdmissionError {
    AdmissionError::NoBridge { engine: legacy.engine, bridge: legacy.bridge.clone(), network }
}
