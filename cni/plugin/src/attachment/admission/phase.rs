//! Whether a network accepts pods now, by the file that the agent publishes for it.

use super::error::AdmissionError;
use usnet_crds::{NetworkName, Phase};
use usnet_dataplane::network_file::{NetworkFile, ProgrammedNetwork};

/// Returns the network, if it accepts pods.
pub(super) fn check_phase(
    file: Option<NetworkFile>,
    network: &NetworkName,
) -> Result<ProgrammedNetwork, AdmissionError> {
    match file {
        None => Err(AdmissionError::Unknown(network.clone())),
        Some(NetworkFile::Unavailable { name, reason, message }) => {
            Err(AdmissionError::Unavailable { network: name, reason, message })
        }
        Some(NetworkFile::Draining { name }) => Err(AdmissionError::Draining(name)),
        Some(NetworkFile::Programmed(programmed)) if programmed.network.phase == Phase::Draining => {
            Err(AdmissionError::Draining(programmed.network.name.clone()))
        }
        Some(NetworkFile::Programmed(programmed)) => Ok(programmed),
    }
}
