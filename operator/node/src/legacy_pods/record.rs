//! The record of an interface that is taken over. Pure.

use super::interface::LegacyInterface;
use std::path::{Path, PathBuf};
use usnet_crds::{BridgeName, EngineKind, NodeNetwork, RateLimit};
use usnet_dataplane::attachment::{Address, Progress, Record};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::port::{AttachedPort, PortBackend, PortName, PortSettings};
use usnet_plugin::protocol::configuration::ConfigurationError;

/// The port of the interface in its engine.
#[derive(Debug, Clone, Copy)]
pub struct FoundPort<'a> {
    /// The control socket of the engine.
    pub engine_socket: &'a Path,
    pub memif_socket_ids: MemifSocketIds,
    /// The network of the bridge that has the port.
    pub network: &'a NodeNetwork,
    pub name: &'a PortName,
    pub backend: &'a PortBackend,
}

/// Why the interface cannot join the network of its bridge, as an ADD with its configuration could
/// not.
#[derive(Debug, thiserror::Error)]
pub enum NotFitting {
    #[error("its port is on a bridge of {engine} that its configuration does not name, but {configured}")]
    Bridge { engine: EngineKind, configured: BridgeName },
    #[error("its configuration differs from network {network}: {differences}")]
    Settings { network: String, differences: String },
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
}

/// The record of an interface whose port was found.
///
/// # Errors
/// The interface cannot join the network.
pub fn record(interface: &LegacyInterface, found: FoundPort<'_>) -> Result<Record, NotFitting> {
    let FoundPort { engine_socket, memif_socket_ids, network, .. } = found;
    check(interface, network)?;
    let name = interface.configuration.name()?;
    let ipam = interface.legacy.ipam.as_ref().map(|ipam| interface.configuration.for_ipam(name, ipam));
    let address = |assigned: &usnet_plugin::protocol::result::AssignedAddress| Address {
        ip: assigned.address.addr(),
        prefix: assigned.address.prefix_len(),
    };
    Ok(Record {
        version: Record::VERSION,
        id: interface.id.clone(),
        progress: Progress::Attached,
        network: network.name.clone(),
        engine: network.engine,
        engine_socket: engine_socket.to_owned(),
        memif_socket_ids,
        port: port(interface, found),
        pod: interface.pod.clone(),
        network_namespace: interface.network_namespace.clone(),
        network_namespace_inode: Some(interface.network_namespace_inode),
        pod_directory: found.backend.socket_file().and_then(Path::parent).map(PathBuf::from).unwrap_or_default(),
        directory_source: None,
        mac: interface.mac.to_string(),
        addresses: interface.assignment.ips.iter().map(address).collect(),
        assignment: interface.assignment.recorded(),
        configuration_name: Some(name.to_owned()),
        invoked_ifname: None,
        requested_rate_limit: RateLimit::default(),
        ipam,
        interface_index: None,
        // The legacy plugin wrote the annotation of the pod, which stays.
        configuration_data: None,
        socket_only: true,
        taken_over: true,
    })
}

fn check(interface: &LegacyInterface, network: &NodeNetwork) -> Result<(), NotFitting> {
    let legacy = &interface.legacy;
    if legacy.bridge != network.bridge.name {
        return Err(NotFitting::Bridge { engine: network.engine, configured: legacy.bridge.clone() });
    }
    let differences =
        legacy.settings.mismatches(network.engine, &network.bridge, &network.port, network.gateway.as_ref());
    if differences.is_empty() {
        return Ok(());
    }
    Err(NotFitting::Settings {
        network: network.name.to_string(),
        differences: differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    })
}

/// In Open vSwitch the port keeps its name. VPP has none: there it is derived from the tag.
fn port(interface: &LegacyInterface, FoundPort { network, name, backend, .. }: FoundPort<'_>) -> AttachedPort {
    let settings = &interface.legacy.settings;
    AttachedPort {
        name: match network.engine {
            EngineKind::OpenVswitch => name.clone(),
            EngineKind::Vpp => PortName::of(&interface.id),
        },
        bridge: network.bridge.name.clone(),
        ownership: network.bridge.ownership,
        backend: backend.clone(),
        queues: settings.queues.unwrap_or_default(),
        ring_size: settings.ring_size.unwrap_or_default(),
        secret: None,
        settings: PortSettings::of_pod(network, &interface.pod.namespace, &interface.pod.name, RateLimit::default()),
        without_af_xdp: None,
    }
}
