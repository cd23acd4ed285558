//! Interfaces on devices of the kernel. Devices are looked up in the simulator's own network
//! namespace. No frames are sent over them.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::device::{AfPacket, Device};
use crate::simulator::model::interface::Interface;
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    AfPacketCreateV3, AfPacketCreateV3Reply, AfPacketDelete, AfPacketDeleteReply, AfPacketDetails, AfPacketDump,
    AfPacketMode, NO_INTERFACE,
};
use usnet_vpp::wire::FixedText;

impl Handle for AfPacketCreateV3 {
    fn handle(&self, state: &mut State) -> Result<AfPacketCreateV3Reply, Failure> {
        let refuse = |code: ReturnCode, sw_if_index| AfPacketCreateV3Reply { retval: code.number(), sw_if_index };
        let name = self.host_if_name.as_str();
        if let Some(existing) = state.on_device(&self.host_if_name) {
            return Ok(refuse(ReturnCode::IfAlreadyExists, existing));
        }
        if self.mode != AfPacketMode::Ethernet {
            return Ok(refuse(ReturnCode::InvalidValue, NO_INTERFACE));
        }
        if nix::net::if_::if_nametoindex(name).is_err() {
            return Ok(refuse(ReturnCode::InvalidInterface, NO_INTERFACE));
        }
        let device = AfPacket { device: self.host_if_name.clone() };
        device.set_up(true);
        let device = Device::AfPacket(device);
        let mut interface = Interface::new(format!("host-{name}"), device);
        interface.address = if self.use_random_hw_addr { state.new_address() } else { self.hw_addr };
        Ok(AfPacketCreateV3Reply { retval: 0, sw_if_index: state.add_interface(interface) })
    }
}

impl State {
    /// Returns the interface on a device.
    fn on_device(&self, device: &FixedText<64>) -> Option<u32> {
        let mut interfaces = self.interfaces.iter();
        let found = interfaces.find(|(_, other)| matches!(&other.device, Device::AfPacket(it) if it.device == *device));
        found.map(|(index, _)| index)
    }
}

impl Handle for AfPacketDelete {
    fn handle(&self, state: &mut State) -> Result<AfPacketDeleteReply, Failure> {
        let index = state.on_device(&self.host_if_name).ok_or(ReturnCode::SyscallError1)?;
        if let Device::AfPacket(on_device) = &state.interface(index)?.device {
            on_device.set_up(false);
        }
        state.remove_interface(index);
        Ok(AfPacketDeleteReply::default())
    }
}

impl List for AfPacketDump {
    fn list(&self, state: &State) -> Vec<AfPacketDetails> {
        let details = state.interfaces.iter().filter_map(|(sw_if_index, interface)| match &interface.device {
            Device::AfPacket(it) => Some(AfPacketDetails { sw_if_index, host_if_name: it.device.clone() }),
            Device::Local
            | Device::Loopback { .. }
            | Device::Memif(_)
            | Device::Vhost(_)
            | Device::Tap(_)
            | Device::Sub(_)
            | Device::Tunnel(_) => None,
        });
        details.collect()
    }
}
