//! Sub-interfaces: VLANs of an interface.

use crate::simulator::handlers::dispatch::{Failure, Handle};
use crate::simulator::model::device::{Device, SubInterface};
use crate::simulator::model::interface::Interface;
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{CreateSubif, CreateSubifReply, DeleteSubif, DeleteSubifReply, NO_INTERFACE, SubIfFlags};

impl Handle for CreateSubif {
    fn handle(&self, state: &mut State) -> Result<CreateSubifReply, Failure> {
        let refuse = |code: ReturnCode| CreateSubifReply { retval: code.number(), sw_if_index: NO_INTERFACE };
        let name = state.interface(self.sw_if_index)?.name.clone();
        let wanted = SubInterface {
            parent: self.sw_if_index,
            sub_id: self.sub_id,
            flags: self.sub_if_flags,
            vlan: self.outer_vlan_id,
        };
        let is_of_it = |other: &&SubInterface| other.parent == self.sw_if_index;
        let others: Vec<&SubInterface> = state.sub_interfaces().filter(is_of_it).collect();
        if others.iter().any(|other| other.sub_id == self.sub_id) {
            return Ok(refuse(ReturnCode::VlanAlreadyExists));
        }
        // The interface itself receives untagged frames.
        let is_taken = self.sub_if_flags.contains(SubIfFlags::NO_TAGS);
        if is_taken || others.iter().any(|other| other.has_frames_of(&wanted)) {
            return Ok(refuse(ReturnCode::Unspecified));
        }
        let interface = Interface::new(format!("{name}.{}", self.sub_id), Device::Sub(wanted));
        Ok(CreateSubifReply { retval: 0, sw_if_index: state.add_interface(interface) })
    }
}

impl Handle for DeleteSubif {
    fn handle(&self, state: &mut State) -> Result<DeleteSubifReply, Failure> {
        let Device::Sub(_) = state.interface(self.sw_if_index)?.device else {
            return Err(ReturnCode::InvalidSubSwIfIndex.into());
        };
        state.remove_interface(self.sw_if_index);
        Ok(DeleteSubifReply::default())
    }
}
