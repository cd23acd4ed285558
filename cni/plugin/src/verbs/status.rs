//! STATUS: whether ADD would work now, by its own prerequisites.

use crate::attachment::admission;
use crate::attachment::engine::{EngineClient, EngineClientError};
use crate::attachment::ipam::IpamPlugin;
use crate::attachment::node::Node;
use crate::error::Error;
use crate::protocol::configuration::Configuration;
use crate::protocol::environment::Environment;
use crate::protocol::error::ErrorCode;
use crate::protocol::version::SpecVersion;
use crate::verbs::ipam::configured_ipam;
use usnet_dataplane::network_file::ProgrammedNetwork;

/// Succeeds when a pod could be attached.
///
/// # Errors
/// [`Error::StatusFailed`] with the reason, or the IPAM plugin's own error.
pub fn status(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<(), Error> {
    configuration.require_version(SpecVersion::V1_1_0, "STATUS")?;
    configuration.name()?;
    let target = configuration.target()?;
    node.check_writable().map_err(not_available)?;
    let programmed = admission::find_available(&node.networks, &target).map_err(not_available)?;
    // Without the engine or the bridge, attached pods have no connectivity either.
    check_bridge(&programmed).map_err(|error| Error::status_failed(ErrorCode::LimitedConnectivity, error))?;
    match configured_ipam(node, configuration).map_err(not_available)? {
        Some(ipam) => IpamPlugin::find(&ipam, environment).map_err(not_available)?.status().map_err(Error::from),
        None => Ok(()),
    }
}

fn check_bridge(programmed: &ProgrammedNetwork) -> Result<(), EngineClientError> {
    let ProgrammedNetwork { network, engine_socket, memif_socket_ids, .. } = programmed;
    EngineClient::connect_to(network.engine, engine_socket, *memif_socket_ids)?.check_bridge(&network.bridge.name)
}

fn not_available(error: impl Into<Error>) -> Error {
    Error::status_failed(ErrorCode::NotAvailable, error)
}
