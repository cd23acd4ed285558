//! Interfaces of any kind, and the messages about them.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::device::Device;
use crate::simulator::model::interface::{Interface, Rewrite};
use crate::simulator::model::state::State;
use std::collections::BTreeSet;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    CreateLoopbackInstance, CreateLoopbackInstanceReply, DeleteLoopback, DeleteLoopbackReply, HwInterfaceSetMtu,
    HwInterfaceSetMtuReply, IfStatusFlags, L2InterfaceVlanTagRewrite, L2InterfaceVlanTagRewriteReply, NO_INTERFACE,
    SwInterfaceDetails, SwInterfaceDump, SwInterfaceSetFlags, SwInterfaceSetFlagsReply, SwInterfaceSetMtu,
    SwInterfaceSetMtuReply, SwInterfaceTagAddDel, SwInterfaceTagAddDelReply, VtrOp,
};
use usnet_vpp::wire::FixedText;

const LOOPBACKS_MAX: u32 = 16384;

impl List for SwInterfaceDump {
    /// A name filter takes precedence over an index, and index 0 means all.
    fn list(&self, state: &State) -> Vec<SwInterfaceDetails> {
        let all = state.interfaces.iter();
        let filter = self.name_filter.as_str().to_ascii_lowercase();
        let observed = all.filter(|(index, interface)| match self.name_filter_valid {
            true => interface.name.to_ascii_lowercase().contains(&filter),
            false => matches!(self.sw_if_index, 0 | NO_INTERFACE) || *index == self.sw_if_index,
        });
        observed.map(|(index, interface)| interface.details(index, state.rewrite(index))).collect()
    }
}

impl Handle for SwInterfaceSetFlags {
    /// Clients cannot set the state of the link.
    fn handle(&self, state: &mut State) -> Result<SwInterfaceSetFlagsReply, Failure> {
        let interface = state.interface(self.sw_if_index)?;
        let admin_up = self.flags.contains(IfStatusFlags::ADMIN_UP);
        if std::mem::replace(&mut interface.admin_up, admin_up) != admin_up {
            if let Device::AfPacket(on_device) = &interface.device {
                on_device.set_up(admin_up);
            }
            let link_up = interface.flags().contains(IfStatusFlags::LINK_UP);
            let event = state.events.entry(self.sw_if_index).or_default();
            event.admin_up |= admin_up;
            event.link_up |= link_up;
            if !admin_up {
                state.neighbours.forget_learned(self.sw_if_index);
            }
        }
        Ok(SwInterfaceSetFlagsReply::default())
    }
}

impl Handle for HwInterfaceSetMtu {
    fn handle(&self, state: &mut State) -> Result<HwInterfaceSetMtuReply, Failure> {
        state.interface(self.sw_if_index)?.set_link_mtu(self.mtu)?;
        Ok(HwInterfaceSetMtuReply::default())
    }
}

impl Handle for SwInterfaceSetMtu {
    fn handle(&self, state: &mut State) -> Result<SwInterfaceSetMtuReply, Failure> {
        state.interface(self.sw_if_index)?.mtu = self.mtu;
        Ok(SwInterfaceSetMtuReply::default())
    }
}

impl Handle for SwInterfaceTagAddDel {
    fn handle(&self, state: &mut State) -> Result<SwInterfaceTagAddDelReply, Failure> {
        let interface = state.interface(self.sw_if_index)?;
        if self.is_add && self.tag.as_str().is_empty() {
            return Err(ReturnCode::InvalidValue.into());
        }
        interface.tag = if self.is_add { self.tag.clone() } else { FixedText::default() };
        Ok(SwInterfaceTagAddDelReply::default())
    }
}

impl Handle for L2InterfaceVlanTagRewrite {
    /// Only sub-interfaces of one VLAN support operations that remove tags. A refusal resets the
    /// tags.
    fn handle(&self, state: &mut State) -> Result<L2InterfaceVlanTagRewriteReply, Failure> {
        let interface = state.interface(self.sw_if_index)?;
        if matches!(self.vtr_op, VtrOp::Other(_)) {
            return Err(ReturnCode::InvalidValue.into());
        }
        if !interface.is_ethernet() {
            return Err(ReturnCode::InvalidInterface.into());
        }
        let [tag1, tag2] = [self.tag1, self.tag2].map(low_half);
        let rewrite = Rewrite { operation: self.vtr_op, push_dot1q: self.push_dot1q != 0, tags: (tag1, tag2) };
        let rewrite = match self.vtr_op {
            VtrOp::Disabled => Rewrite::default(),
            VtrOp::Push1 => Rewrite { tags: (tag1, 0), ..rewrite },
            VtrOp::Push2 => rewrite,
            VtrOp::Pop1 if interface.has_one_tag() => Rewrite { tags: (0, 0), ..rewrite },
            _ => {
                let operation = state.rewrite(self.sw_if_index).operation;
                state.rewrites.insert(self.sw_if_index, Rewrite { operation, ..Rewrite::default() });
                return Err(ReturnCode::InvalidVlanTagCount.into());
            }
        };
        state.rewrites.insert(self.sw_if_index, rewrite);
        Ok(L2InterfaceVlanTagRewriteReply::default())
    }
}

fn low_half(number: u32) -> u16 {
    let [_, _, low @ ..] = number.to_be_bytes();
    u16::from_be_bytes(low)
}

impl Handle for CreateLoopbackInstance {
    fn handle(&self, state: &mut State) -> Result<CreateLoopbackInstanceReply, Failure> {
        let instances = state.interfaces.iter().filter_map(|(_, other)| match other.device {
            Device::Loopback { instance } => Some(instance),
            Device::Local
            | Device::Memif(_)
            | Device::Vhost(_)
            | Device::AfPacket(_)
            | Device::Tap(_)
            | Device::Sub(_)
            | Device::Tunnel(_) => None,
        });
        let used: BTreeSet<u32> = instances.collect();
        let mut free = (0..LOOPBACKS_MAX).filter(|instance| !used.contains(instance));
        let instance = if self.is_specified { free.find(|free| *free == self.user_instance) } else { free.next() };
        let Some(instance) = instance else {
            let retval = ReturnCode::InvalidRegistration.number();
            return Ok(CreateLoopbackInstanceReply { retval, sw_if_index: NO_INTERFACE });
        };
        let mut interface = Interface::new(format!("loop{instance}"), Device::Loopback { instance });
        let [.., last] = instance.to_be_bytes();
        interface.address = if self.mac_address == [0; 6] { [0xde, 0xad, 0, 0, 0, last] } else { self.mac_address };
        Ok(CreateLoopbackInstanceReply { retval: 0, sw_if_index: state.add_interface(interface) })
    }
}

impl Handle for DeleteLoopback {
    fn handle(&self, state: &mut State) -> Result<DeleteLoopbackReply, Failure> {
        let Device::Loopback { .. } = state.interface(self.sw_if_index)?.device else {
            return Err(ReturnCode::InvalidSwIfIndex.into());
        };
        state.remove_interface(self.sw_if_index);
        Ok(DeleteLoopbackReply::default())
    }
}
