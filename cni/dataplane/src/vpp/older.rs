//! The removal of an interface that the older userspace CNI made. It is found by the name of its socket, which has the container's id in it: the index that
//! the older plugin wrote down may be another pod's interface by now.

use super::Vpp;
use super::change::{Change, send};
use super::shown::{Kind, Shown};
use crate::engine::EngineError;
use crate::older_port::OlderPort;
use usnet_vpp::{Api, ReplyError};

impl<A: Api + Send> Vpp<A> {
    /// Takes an interface away that the older plugin made, and the id of its memif socket. `is_its_socket` says which socket is meant. The bridge domain stays.
    ///
    /// # Errors
    /// When VPP does not answer, or refuses.
    pub async fn remove_older_port(&mut self, is_its_socket: impl Fn(&str) -> bool) -> Result<OlderPort, EngineError> {
        let shown = Shown::read(&mut self.api).await?;
        let mut changes = Vec::new();
        for (index, interface) in &shown.interfaces {
            if !interface.kind.socket().is_some_and(&is_its_socket) {
                continue;
            }
            if interface.is_tagged {
                // The older plugin tags nothing.
                return Ok(OlderPort::Foreign { found: format!("interface {} carries a tag", interface.name) });
            }
            match &interface.kind {
                Kind::Memif { .. } => changes.push(Change::DeleteMemif { index: *index }),
                Kind::VhostUser { .. } => changes.push(Change::DeleteVhostUser { index: *index }),
                Kind::Device { .. } | Kind::Other => {}
            }
        }
        // Also one that was added and never used.
        let ids = shown.sockets.iter().filter(|(_, name)| is_its_socket(name));
        changes.extend(ids.map(|(id, _)| Change::ForgetSocket { id: *id }));
        for outcome in send(&mut self.api, &changes).await? {
            match outcome {
                // Somebody else was quicker.
                Ok(_) | Err(ReplyError::Refused { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let left = Shown::read(&mut self.api).await?;
        let is_left = |interface: &super::shown::Interface| interface.kind.socket().is_some_and(&is_its_socket);
        match left.interfaces.values().find(|interface| is_left(interface)) {
            None => Ok(OlderPort::Gone),
            Some(interface) => {
                Ok(OlderPort::Foreign { found: format!("VPP did not take interface {} away", interface.name) })
            }
        }
    }
}
