//! The port of one attachment.

use super::backend::{SocketLocation, backend, secret};
use super::error::PortError;
use crate::attachment::engine::drivers::check_tag;
use crate::attachment::pod_files::names::socket_of;
use usnet_crds::{NodeNetwork, RateLimit};
use usnet_dataplane::attachment::{AttachmentId, Pod, Record};
use usnet_dataplane::port::{AttachedPort, PortName, PortSettings};

/// The port of a pod's attachment to a network. `requested` are the rates that the pod requests.
///
/// # Errors
/// The engine could not create or tag the port.
pub fn port(
    network: &NodeNetwork,
    attachment: &AttachmentId,
    pod: &Pod,
    requested: RateLimit,
    location: SocketLocation<'_>,
) -> Result<AttachedPort, PortError> {
    check_tag(network.engine, attachment)?;
    let settings = PortSettings::of_pod(network, &pod.namespace, &pod.name, requested);
    let backend = backend(network, attachment, location, settings.rate_limit)?;
    Ok(AttachedPort {
        name: PortName::of(attachment),
        bridge: network.bridge.name.clone(),
        ownership: network.bridge.ownership,
        backend,
        queues: network.port.queues,
        ring_size: network.port.ring_size,
        secret: secret(&network.port)?,
        settings,
        without_af_xdp: None,
    })
}

/// Whether the pod needs its volume for this port: for the file of the socket, or to get the
/// secret.
pub fn needs_volume(port: &AttachedPort) -> bool {
    port.backend.socket_file().is_some() || port.secret.is_some()
}

/// Rejects a socket that another interface of the pod uses: a legacy configuration that names a
/// socket fits only one interface of a pod.
pub fn check_socket_conflict(record: &Record, others: &[Record]) -> Result<(), PortError> {
    let Some(socket) = record.port.backend.socket_file() else { return Ok(()) };
    let shares =
        |other: &&Record| other.id.interface != record.id.interface && other.port.backend.socket_file() == Some(socket);
    match others.iter().find(shares) {
        None => Ok(()),
        Some(other) => Err(PortError::SharedSocket {
            file: socket_of(record).unwrap_or_default(),
            interface: other.id.interface.clone(),
        }),
    }
}
