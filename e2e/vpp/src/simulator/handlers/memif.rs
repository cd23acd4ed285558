//! Shared memory interfaces, the ids of their sockets, and the way in which VPP miscounts those.

use crate::simulator::handlers::dispatch::Failure;
use crate::simulator::listener;
use crate::simulator::model::device::{Device, Memif};
use crate::simulator::model::interface::Interface;
use crate::simulator::model::memif_address::MemifAddress;
use crate::simulator::model::state::State;
use std::collections::BTreeSet;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{MemifCreateV2, MemifMode, MemifRole};

impl State {
    /// Creates a memif. The index in a refusal has no meaning.
    pub(crate) fn create_memif(&mut self, request: &MemifCreateV2) -> Result<u32, (Failure, u32)> {
        let refuse = |code: ReturnCode| (Failure::Refused(code), 0);
        if request.ring_size != 0 && !request.ring_size.is_power_of_two() {
            return Err(refuse(ReturnCode::InvalidArgument));
        }
        let is_server = request.role == MemifRole::Master;
        let slot = self.sockets.slots.get(&request.socket_id).copied();
        let file = slot.and_then(|slot| Some((slot, self.sockets.files.get_mut(slot)?)));
        let Some((slot, file)) = file else { return Err(refuse(ReturnCode::InvalidArgument)) };
        let taken = file.ids.as_ref().is_some_and(|ids| ids.contains(&request.id));
        if file.references > 0 && (file.listens != is_server || taken) {
            return Err(refuse(ReturnCode::SubifAlreadyExists));
        }
        let name = format!("memif{}/{}", request.socket_id, request.id);
        if file.references == 0 {
            file.ids = Some(BTreeSet::new());
            file.listens = is_server;
        }
        let is_known_mode = matches!(request.mode, MemifMode::Ethernet | MemifMode::Ip);
        if self.has_name(&name) || !is_known_mode {
            return Err((Failure::Fatal, 0));
        }
        let sw_if_index = self.add_memif(name, slot, request);
        let listened = self.use_socket(slot, request.id);
        listened.map(|()| sw_if_index).map_err(|code| {
            self.remove_interface(sw_if_index);
            (Failure::Refused(code), sw_if_index)
        })
    }

    fn add_memif(&mut self, name: String, slot: u32, request: &MemifCreateV2) -> u32 {
        let role = if request.role == MemifRole::Master { MemifRole::Master } else { MemifRole::Slave };
        let zero_copy = role == MemifRole::Slave && !request.no_zero_copy;
        let memif = Memif { id: request.id, role, mode: request.mode, zero_copy, socket_id: request.socket_id, slot };
        let mut interface = Interface::new(name, Device::Memif(memif));
        if request.mode == MemifMode::Ethernet {
            interface.address = if request.hw_addr == [0; 6] { self.new_address() } else { request.hw_addr };
        }
        self.add_interface(interface)
    }

    /// Counts another interface on a socket, and listens for the first one. If that fails, VPP
    /// decrements the count.
    fn use_socket(&mut self, slot: u32, id: u32) -> Result<(), ReturnCode> {
        let Some(file) = self.sockets.files.get_mut(slot) else { return Ok(()) };
        if file.listens && file.references == 0 {
            let bound = MemifAddress::parse(&file.name).and_then(|address| listener::for_memif(&address).ok());
            if bound.is_none() {
                file.references -= 1;
                return Err(ReturnCode::SyscallError4);
            }
            file.listener = bound;
        }
        file.references += 1;
        if let Some(ids) = &mut file.ids {
            ids.insert(id);
        }
        Ok(())
    }

    /// Deletes a memif. The last one on a socket, by VPP's count, ends the listening and leaves the
    /// file.
    pub(crate) fn delete_memif(&mut self, sw_if_index: u32) -> Result<(), Failure> {
        let Device::Memif(Memif { slot, id, .. }) = self.interface(sw_if_index)?.device else {
            return Err(ReturnCode::InvalidSwIfIndex.into());
        };
        self.remove_interface(sw_if_index);
        let Some(file) = self.sockets.files.get_mut(slot) else { return Ok(()) };
        // VPP would read freed memory here.
        let Some(ids) = &mut file.ids else { return Err(Failure::Fatal) };
        ids.remove(&id);
        file.references -= 1;
        if file.references == 0 {
            file.ids = None;
            file.listener = None;
        }
        Ok(())
    }
}
