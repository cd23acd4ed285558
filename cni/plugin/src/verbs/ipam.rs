//! The IPAM plugin of a configuration, for calls without a record. IO: reads files of the node.

use crate::attachment::admission::find_available;
use crate::attachment::ipam::{NetworkIpam, configuration_for};
use crate::attachment::node::Node;
use crate::error::Error;
use crate::protocol::configuration::{Configuration, Target};
use serde_json::Value;
use usnet_dataplane::network_file::NetworkFile;

/// The configuration of the IPAM plugin that ADD would call, as far as it is still known: the
/// network may be gone.
///
/// # Errors
/// ADD would reject the configuration.
pub(super) fn configured_ipam(node: &Node, configuration: &Configuration) -> Result<Option<Value>, Error> {
    let Ok(target) = configuration.target() else { return Ok(None) };
    let (name, file) = match &target {
        Target::Network(name) => (name.clone(), node.networks.read(name).ok().flatten()),
        Target::Bridge(legacy) => {
            let found = find_available(&node.networks, &target).ok();
            let name = found.as_ref().map_or_else(|| legacy.network_name(), |found| found.network.name.clone());
            (name, found.map(NetworkFile::Programmed))
        }
    };
    let ipam = file.as_ref().and_then(|file| match file {
        NetworkFile::Programmed(programmed) => programmed.network.ipam.as_ref(),
        NetworkFile::Draining { .. } | NetworkFile::Unavailable { .. } => None,
    });
    configuration_for(node, configuration, &target, NetworkIpam { network: &name, ipam })
}
