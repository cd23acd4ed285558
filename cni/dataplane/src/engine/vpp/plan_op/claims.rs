//! What the operations of one list claim, so that no two of them create the same.

use crate::engine::error::OpError;
use crate::engine::vpp::snapshot::VppSnapshot;
use crate::model::memif::MemifSocketIds;
use crate::model::owner::Owner;
use crate::model::port::PortName;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Names, sockets and socket ids that are claimed.
#[derive(Debug, Default)]
pub(in crate::engine::vpp) struct Claims<'a> {
    ports: BTreeMap<&'a PortName, Owner>,
    sockets: BTreeSet<String>,
    socket_ids: BTreeSet<u32>,
    /// Ids of routing tables, by whether they are of IPv6.
    pub(super) table_ids: BTreeSet<(bool, u32)>,
    /// Numbers in the names of tunnels.
    pub(super) tunnel_numbers: BTreeSet<u32>,
}

impl<'a> Claims<'a> {
    /// Takes a port's name for its owner.
    pub(super) fn name(&mut self, port: &'a PortName, owner: &Owner) -> Result<(), OpError> {
        let holder = self.ports.entry(port).or_insert_with(|| owner.clone());
        if holder == owner {
            return Ok(());
        }
        Err(OpError::PortDiffers { port: port.clone(), found: format!("it is owned by {holder}") })
    }

    pub(super) fn socket(&mut self, socket: &str) -> Result<(), OpError> {
        if self.sockets.insert(socket.to_owned()) {
            return Ok(());
        }
        Err(OpError::SocketInUse { socket: Path::new(socket).to_owned() })
    }

    /// Claims an id for a memif socket. It is derived from the socket's name unless that id is in
    /// use, so that two concurrent creations of the same port create it once.
    pub(super) fn socket_id(
        &mut self,
        socket: &str,
        snapshot: &VppSnapshot,
        own_socket_ids: MemifSocketIds,
    ) -> Result<u32, OpError> {
        let unused: BTreeSet<u32> = snapshot.unused_ids(socket, own_socket_ids).collect();
        let is_free =
            |id: &u32| !self.socket_ids.contains(id) && (unused.contains(id) || !snapshot.sockets.contains_key(id));
        let id = own_socket_ids.of_socket(socket).find(is_free);
        let id = id.ok_or_else(|| OpError::NoSocketId { count: own_socket_ids.count() })?;
        self.socket_ids.insert(id);
        Ok(id)
    }
}
