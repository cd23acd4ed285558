//! vhost-user interfaces.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::listener;
use crate::simulator::model::device::{Device, Vhost};
use crate::simulator::model::interface::Interface;
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    CreateVhostUserIfV2, CreateVhostUserIfV2Reply, DeleteVhostUserIf, DeleteVhostUserIfReply, NO_INTERFACE,
    SwInterfaceVhostUserDetails, SwInterfaceVhostUserDump,
};
use usnet_vpp::wire::FixedText;

impl Handle for CreateVhostUserIfV2 {
    fn handle(&self, state: &mut State) -> Result<CreateVhostUserIfV2Reply, Failure> {
        let refuse = |code: ReturnCode, sw_if_index| CreateVhostUserIfV2Reply { retval: code.number(), sw_if_index };
        if self.sock_filename.as_str().is_empty() {
            return Ok(refuse(ReturnCode::InvalidArgument, NO_INTERFACE));
        }
        if let Some(existing) = state.vhost_at(&self.sock_filename) {
            return Ok(refuse(ReturnCode::IfAlreadyExists, existing));
        }
        let listener = match self.is_server.then(|| listener::for_vhost(self.sock_filename.as_str())).transpose() {
            Ok(listener) => listener,
            Err(_) => return Ok(refuse(ReturnCode::SyscallError2, NO_INTERFACE)),
        };
        let number = state.vhost_numbers.insert(());
        let reported_number = if self.renumber { self.custom_dev_instance } else { number };
        let vhost = Vhost { path: self.sock_filename.clone(), number, listener };
        let mut interface = Interface::new(format!("VirtualEthernet0/0/{reported_number}"), Device::Vhost(vhost));
        interface.address = if self.use_custom_mac { self.mac_address } else { state.new_address() };
        interface.tag = self.tag.clone();
        Ok(CreateVhostUserIfV2Reply { retval: 0, sw_if_index: state.add_interface(interface) })
    }
}

impl State {
    /// Returns the vhost-user interface with a path.
    fn vhost_at(&self, path: &FixedText<256>) -> Option<u32> {
        let mut interfaces = self.interfaces.iter();
        let found = interfaces.find(|(_, other)| matches!(&other.device, Device::Vhost(vhost) if vhost.path == *path));
        found.map(|(index, _)| index)
    }
}

impl Handle for DeleteVhostUserIf {
    /// The socket file is removed unless its name was cut.
    fn handle(&self, state: &mut State) -> Result<DeleteVhostUserIfReply, Failure> {
        let Device::Vhost(vhost) = &state.interface(self.sw_if_index)?.device else {
            return Err(ReturnCode::InvalidSwIfIndex.into());
        };
        if vhost.listener.is_some() {
            let _may_be_gone = std::fs::remove_file(vhost.path.as_str());
        }
        let number = vhost.number;
        state.remove_interface(self.sw_if_index);
        state.vhost_numbers.remove(number);
        Ok(DeleteVhostUserIfReply::default())
    }
}

impl List for SwInterfaceVhostUserDump {
    fn list(&self, state: &State) -> Vec<SwInterfaceVhostUserDetails> {
        let wanted = |index: u32| self.sw_if_index == NO_INTERFACE || self.sw_if_index == index;
        let all = state.interfaces.iter().filter(|(index, _)| wanted(*index));
        let details = all.filter_map(|(sw_if_index, interface)| match &interface.device {
            Device::Vhost(vhost) => Some(SwInterfaceVhostUserDetails {
                sw_if_index,
                interface_name: interface.reported_name(),
                is_server: vhost.listener.is_some(),
                sock_filename: vhost.path.clone(),
                sock_errno: vhost.socket_error(),
                ..SwInterfaceVhostUserDetails::default()
            }),
            Device::Local
            | Device::Loopback { .. }
            | Device::Memif(_)
            | Device::AfPacket(_)
            | Device::Tap(_)
            | Device::Sub(_)
            | Device::Tunnel(_) => None,
        });
        details.collect()
    }
}
