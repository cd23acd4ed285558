//! Deletion of an interface of the legacy userspace CNI. It is found by the name of its socket,
//! which contains the container id: the interface index that the legacy plugin recorded may be
//! another pod's by now.

use crate::engine::error::EngineError;
use crate::engine::vpp::command::{VppCommand, send};
use crate::engine::vpp::ports::PortCommand;
use crate::engine::vpp::snapshot::{Interface, VppSnapshot};
use crate::legacy::port::{LegacyPort, LegacyPortLocation};
use usnet_vpp::{Api, ReplyError};

/// Deletes an interface of the legacy plugin and the id of its memif socket. The bridge domain is
/// kept.
pub(in crate::engine::vpp) async fn remove_legacy_port(
    api: &mut impl Api,
    LegacyPortLocation { owns_socket, .. }: LegacyPortLocation<'_>,
) -> Result<LegacyPort, EngineError> {
    let snapshot = VppSnapshot::read(api).await?;
    let mut commands = Vec::new();
    for (index, interface) in &snapshot.interfaces {
        if !interface.endpoint().is_some_and(owns_socket) {
            continue;
        }
        if interface.is_tagged {
            // The legacy plugin tags nothing.
            return Ok(LegacyPort::Foreign { found: format!("interface {} has an ownership tag", interface.name) });
        }
        commands.extend(snapshot.spans.stop(*index));
        commands.extend(interface.port.iter().flat_map(|port| port.delete_legacy(*index)).map(VppCommand::Port));
    }
    // Also one that was added and never used.
    let ids = snapshot.sockets.iter().filter(|(_, name)| owns_socket(name));
    commands.extend(ids.map(|(id, _)| VppCommand::Port(PortCommand::delete_socket_id(*id))));
    for outcome in send(api, &commands).await? {
        match outcome {
            // Deleted by another client in between.
            Ok(_) | Err(ReplyError::Refused { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let left = VppSnapshot::read(api).await?;
    let is_left = |interface: &Interface| interface.endpoint().is_some_and(owns_socket);
    match left.interfaces.values().find(|interface| is_left(interface)) {
        None => Ok(LegacyPort::Absent),
        Some(interface) => {
            Ok(LegacyPort::Foreign { found: format!("VPP did not delete interface {}", interface.name) })
        }
    }
}
