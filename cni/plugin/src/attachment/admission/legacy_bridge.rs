//! Finds the network of a bridge, for legacy configurations, which name only a bridge.
//!
//! On one node a bridge of an engine belongs to one network, or to several networks that have
//! adopted it and are separated by VLANs. Then only one of them has matching settings.

use super::error::AdmissionError;
use super::phase::check_phase;
use usnet_crds::legacy::Legacy;
use usnet_crds::{NetworkName, NodeNetwork};
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles, ProgrammedNetwork};

pub(super) fn find_network(files: &NetworkFiles, legacy: &Legacy) -> Result<ProgrammedNetwork, AdmissionError> {
    let default_name = legacy.network_name();
    let file = files.read(&default_name)?;
    if let Some(network) = of_bridge(file.as_ref(), legacy) {
        check_settings(network, legacy)?;
        return check_phase(file, &default_name);
    }
    let mut mismatch = None;
    for name in files.list()?.into_iter().filter(|name| *name != default_name) {
        // An unreadable file belongs to a network that pods cannot use; it must not block the
        // others.
        let Ok(file) = files.read(&name) else { continue };
        match of_bridge(file.as_ref(), legacy).map(|network| check_settings(network, legacy)) {
            Some(Ok(())) => return check_phase(file, &name),
            Some(Err(error)) => mismatch = mismatch.or(Some(error)),
            None => {}
        }
    }
    match (mismatch, file) {
        (Some(mismatch), _) => Err(mismatch),
        (None, file @ Some(NetworkFile::Draining { .. } | NetworkFile::Unavailable { .. })) => {
            check_phase(file, &default_name)
        }
        (None, _) => Err(no_bridge(legacy, default_name)),
    }
}

fn of_bridge<'a>(file: Option<&'a NetworkFile>, legacy: &Legacy) -> Option<&'a NodeNetwork> {
    let Some(NetworkFile::Programmed(ProgrammedNetwork { network, .. })) = file else { return None };
    (network.engine == legacy.engine && network.bridge.name == legacy.bridge).then_some(network)
}

/// Rejects other settings than those of the configuration: a pod must not silently join another
/// VLAN, or wait at a socket of another type.
fn check_settings(network: &NodeNetwork, legacy: &Legacy) -> Result<(), AdmissionError> {
    let differences =
        legacy.settings.mismatches(network.engine, &network.bridge, &network.port, network.gateway.as_ref());
    if differences.is_empty() {
        return Ok(());
    }
    Err(AdmissionError::SettingMismatch {
        network: network.name.clone(),
        bridge: network.bridge.name.clone(),
        differences: differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    })
}

fn no_bridge(legacy: &Legacy, network: NetworkName) -> AdmissionError {
    AdmissionError::NoBridge { engine: legacy.engine, bridge: legacy.bridge.clone(), network }
}
