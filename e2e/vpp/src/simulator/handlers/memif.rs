//! Shared memory interfaces, the numbers of their socket files, and how VPP miscounts those.

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
    /// Makes a memif. The index of a refusal is without meaning.
    pub(crate) fn create_memif(&mut self, asked: &MemifCreateV2) -> Result<u32, (Failure, u32)> {
        let refuse = |code: ReturnCode| (Failure::Refused(code), 0);
        if asked.ring_size != 0 && !asked.ring_size.is_power_of_two() {
            return Err(refuse(ReturnCode::InvalidArgument));
        }
        let is_server = asked.role == MemifRole::Master;
        let slot = self.sockets.slots.get(&asked.socket_id).copied();
        let file = slot.and_then(|slot| Some((slot, self.sockets.files.get_mut(slot)?)));
        let Some((slot, file)) = file else { return Err(refuse(ReturnCode::InvalidArgument)) };
        let taken = file.ids.as_ref().is_some_and(|ids| ids.contains(&asked.id));
        if file.references > 0 && (file.listens != is_server || taken) {
            return Err(refuse(ReturnCode::SubifAlreadyExists));
        }
        let name = format!("memif{}/{}", asked.socket_id, asked.id);
        if file.references == 0 {
            file.ids = Some(BTreeSet::new());
            file.listens = is_server;
        }
        let is_known_mode = matches!(asked.mode, MemifMode::Ethernet | MemifMode::Ip);
        if self.has_name(&name) || !is_known_mode {
            return Err((Failure::Fatal, 0));
        }
        let sw_if_index = self.add_memif(name, slot, asked);
        let listened = self.use_socket(slot, asked.id);
        listened.map(|()| sw_if_index).map_err(|code| {
            self.remove_interface(sw_if_index);
            (Failure::Refused(code), sw_if_index)
        })
    }

    fn add_memif(&mut self, name: String, slot: u32, asked: &MemifCreateV2) -> u32 {
        let role = if asked.role == MemifRole::Master { MemifRole::Master } else { MemifRole::Slave };
        let zero_copy = role == MemifRole::Slave && !asked.no_zero_copy;
        let memif = Memif { id: asked.id, role, mode: asked.mode, zero_copy, socket_id: asked.socket_id, slot };
        let mut interface = Interface::new(name, Device::Memif(memif));
        if asked.mode == MemifMode::Ethernet {
            interface.address = if asked.hw_addr == [0; 6] { self.new_address() } else { asked.hw_addr };
        }
        self.add_interface(interface)
    }

    /// Counts an interface more on a socket, and listens for the first one. VPP counts one down if
    /// that fails.
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

    /// Removes a memif. The last one on a socket, as VPP counts, ends the listening and leaves the
    /// file.
    pub(crate) fn delete_memif(&mut self, sw_if_index: u32) -> Result<(), Failure> {
        let Device::Memif(Memif { slot, id, .. }) = self.interface(sw_if_index)?.device else {
            return Err(ReturnCode::InvalidSwIfIndex.into());
        };
        self.remove_interface(sw_if_index);
        let Some(file) = self.sockets.files.get_mut(slot) else { return Ok(()) };
        // VPP looks into memory that it has given back.
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
