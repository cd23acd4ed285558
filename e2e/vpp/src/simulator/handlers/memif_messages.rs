//! The messages about memifs.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::device::Device;
use crate::simulator::model::device::Memif;
use crate::simulator::model::interface::Interface;
use crate::simulator::model::memif_sockets::DEFAULT_SOCKET;
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    MemifCreate, MemifCreateReply, MemifCreateV2, MemifCreateV2Reply, MemifDelete, MemifDeleteReply, MemifDetails,
    MemifDump, MemifSocketFilenameAddDel, MemifSocketFilenameAddDelReply, MemifSocketFilenameAddDelV2,
    MemifSocketFilenameAddDelV2Reply, MemifSocketFilenameDetails, MemifSocketFilenameDump,
};
use usnet_vpp::wire::FixedText;

/// VPP chooses the socket id.
const ANY_SOCKET: u32 = u32::MAX;
/// The number of descriptors that `memif_details` shows before a peer is connected.
const UNCONNECTED_RING: u32 = 1;

impl Handle for MemifSocketFilenameAddDelV2 {
    fn handle(&self, state: &mut State) -> Result<MemifSocketFilenameAddDelV2Reply, Failure> {
        if self.socket_id == DEFAULT_SOCKET {
            return Err(ReturnCode::InvalidArgument.into());
        }
        let socket_id = match self.socket_id {
            ANY_SOCKET if self.is_add => state.sockets.random.next(),
            given => given,
        };
        // For VPP, the name ends at a NUL.
        let name = self.socket_filename.as_str().split('\0').next().unwrap_or_default();
        let done = match self.is_add {
            true => state.sockets.add(socket_id, name, &state.runtime_directory),
            false => state.sockets.remove(socket_id),
        };
        Ok(MemifSocketFilenameAddDelV2Reply { retval: done.err().map_or(0, ReturnCode::number), socket_id })
    }
}

impl Handle for MemifSocketFilenameAddDel {
    fn handle(&self, state: &mut State) -> Result<MemifSocketFilenameAddDelReply, Failure> {
        if self.socket_id == ANY_SOCKET {
            return Err(ReturnCode::InvalidArgument.into());
        }
        let socket_filename = self.socket_filename.as_str().into();
        let newer = MemifSocketFilenameAddDelV2 { is_add: self.is_add, socket_id: self.socket_id, socket_filename };
        Ok(MemifSocketFilenameAddDelReply { retval: newer.handle(state)?.retval })
    }
}

impl List for MemifSocketFilenameDump {
    fn list(&self, state: &State) -> Vec<MemifSocketFilenameDetails> {
        let sockets = state.sockets.slots.iter();
        let named = sockets.filter_map(|(socket_id, slot)| Some((*socket_id, &state.sockets.files.get(*slot)?.name)));
        let details =
            |(socket_id, name): (u32, &String)| MemifSocketFilenameDetails { socket_id, socket_filename: cut(name) };
        named.map(details).collect()
    }
}

/// Cuts a name to the size of its field.
fn cut(name: &str) -> FixedText<108> {
    let end = name.floor_char_boundary(FixedText::<108>::LIMIT);
    FixedText::new(name.get(..end).unwrap_or_default()).unwrap_or_default()
}

impl Handle for MemifCreateV2 {
    fn handle(&self, state: &mut State) -> Result<MemifCreateV2Reply, Failure> {
        match state.create_memif(self) {
            Ok(sw_if_index) => Ok(MemifCreateV2Reply { retval: 0, sw_if_index }),
            Err((Failure::Refused(code), sw_if_index)) => Ok(MemifCreateV2Reply { retval: code.number(), sw_if_index }),
            Err((Failure::Fatal, _)) => Err(Failure::Fatal),
        }
    }
}

impl Handle for MemifCreate {
    fn handle(&self, state: &mut State) -> Result<MemifCreateReply, Failure> {
        let newer = MemifCreateV2 {
            role: self.role,
            mode: self.mode,
            rx_queues: self.rx_queues,
            tx_queues: self.tx_queues,
            id: self.id,
            socket_id: self.socket_id,
            ring_size: self.ring_size,
            buffer_size: self.buffer_size,
            no_zero_copy: self.no_zero_copy,
            use_dma: false,
            hw_addr: self.hw_addr,
            secret: self.secret.clone(),
        };
        let MemifCreateV2Reply { retval, sw_if_index } = newer.handle(state)?;
        Ok(MemifCreateReply { retval, sw_if_index })
    }
}

impl Handle for MemifDelete {
    fn handle(&self, state: &mut State) -> Result<MemifDeleteReply, Failure> {
        state.delete_memif(self.sw_if_index)?;
        Ok(MemifDeleteReply::default())
    }
}

impl List for MemifDump {
    fn list(&self, state: &State) -> Vec<MemifDetails> {
        let memifs = state.interfaces.iter().filter_map(|(index, interface)| match &interface.device {
            Device::Memif(memif) => Some(details(index, interface, memif)),
            Device::Local
            | Device::Loopback { .. }
            | Device::Vhost(_)
            | Device::AfPacket(_)
            | Device::Tap(_)
            | Device::Sub(_)
            | Device::Tunnel(_) => None,
        });
        memifs.collect()
    }
}

fn details(sw_if_index: u32, interface: &Interface, memif: &Memif) -> MemifDetails {
    MemifDetails {
        sw_if_index,
        hw_addr: interface.address,
        id: memif.id,
        role: memif.role,
        mode: memif.mode,
        zero_copy: memif.zero_copy,
        socket_id: memif.socket_id,
        ring_size: UNCONNECTED_RING,
        buffer_size: 0,
        flags: interface.flags(),
        if_name: interface.reported_name(),
    }
}
