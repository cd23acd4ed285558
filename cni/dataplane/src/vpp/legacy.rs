//! The removal of an interface that the older userspace CNI made. It is found by the name of its socket, which has the container's id in it: the index that
//! the older plugin wrote down may be another pod's interface by now.

use super::Vpp;
use super::command::{VppCommand, send};
use super::snapshot::{InterfaceKind, VppSnapshot};
use crate::engine::EngineError;
use crate::legacy_port::LegacyPort;
use usnet_vpp::{Api, ReplyError};

impl<A: Api + Send> Vpp<A> {
    /// Takes an interface away that the older plugin made, and the id of its memif socket. `is_its_socket` says which socket is meant. The bridge domain stays.
    ///
    /// # Errors
    /// When VPP does not answer, or refuses.
    pub async fn remove_legacy_port(
        &mut self,
        is_its_socket: impl Fn(&str) -> bool,
    ) -> Result<LegacyPort, EngineError> {
        let snapshot = VppSnapshot::read(&mut self.api).await?;
        let mut commands = Vec::new();
        for (index, interface) in &snapshot.interfaces {
            if !interface.kind.socket().is_some_and(&is_its_socket) {
                continue;
            }
            if interface.is_tagged {
                // The older plugin tags nothing.
                return Ok(LegacyPort::Foreign { found: format!("interface {} carries a tag", interface.name) });
            }
            match &interface.kind {
                InterfaceKind::Memif { .. } => commands.push(VppCommand::DeleteMemif { index: *index }),
                InterfaceKind::VhostUser { .. } => commands.push(VppCommand::DeleteVhostUser { index: *index }),
                InterfaceKind::AfPacket { .. } | InterfaceKind::Other => {}
            }
        }
        // Also one that was added and never used.
        let ids = snapshot.sockets.iter().filter(|(_, name)| is_its_socket(name));
        commands.extend(ids.map(|(id, _)| VppCommand::DeleteMemifSocket { id: *id }));
        for outcome in send(&mut self.api, &commands).await? {
            match outcome {
                // Somebody else was quicker.
                Ok(_) | Err(ReplyError::Refused { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let left = VppSnapshot::read(&mut self.api).await?;
        let is_left = |interface: &super::snapshot::Interface| interface.kind.socket().is_some_and(&is_its_socket);
        match left.interfaces.values().find(|interface| is_left(interface)) {
            None => Ok(LegacyPort::Absent),
            Some(interface) => {
                Ok(LegacyPort::Foreign { found: format!("VPP did not take interface {} away", interface.name) })
            }
        }
    }
}
