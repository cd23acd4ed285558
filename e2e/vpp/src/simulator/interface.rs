//! Interfaces of any kind, and the messages about them.

use super::af_packet::AfPacket;
use super::dispatch::{Failure, Handle, List};
use super::memif::Memif;
use super::state::State;
use super::vhost::Vhost;
use std::collections::BTreeSet;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    CreateLoopbackInstance, CreateLoopbackInstanceReply, DeleteLoopback, DeleteLoopbackReply, HwInterfaceSetMtu,
    HwInterfaceSetMtuReply, IfStatusFlags, L2InterfaceVlanTagRewrite, L2InterfaceVlanTagRewriteReply, MemifMode,
    NO_INTERFACE, SwInterfaceDetails, SwInterfaceDump, SwInterfaceSetFlags, SwInterfaceSetFlagsReply,
    SwInterfaceSetMtu, SwInterfaceSetMtuReply, SwInterfaceTagAddDel, SwInterfaceTagAddDelReply, VtrOp,
};
use usnet_vpp::wire::FixedText;

/// In bytes; what Ethernet interfaces have at first.
const DEFAULT_MTU: u16 = 9000;
const LOOPBACKS_MAX: u32 = 16384;

#[derive(Debug)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) device: Device,
    pub(super) address: [u8; 6],
    pub(super) admin_up: bool,
    link_mtu: u16,
    mtu: [u32; 4],
    pub(super) tag: FixedText<64>,
    /// The bridge domain, and the split horizon group in it.
    pub(super) bridge: Option<(u32, u8)>,
}

/// What is behind an interface.
#[derive(Debug)]
pub(super) enum Device {
    /// `local0`, which is always there.
    Local,
    Loopback {
        instance: u32,
    },
    Memif(Memif),
    Vhost(Vhost),
    AfPacket(AfPacket),
}

/// What is done to VLAN tags.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rewrite {
    operation: VtrOp,
    push_dot1q: bool,
    tags: (u16, u16),
}

impl Rewrite {
    pub(super) fn operation(self) -> VtrOp {
        self.operation
    }
}

impl Interface {
    pub(super) fn new(name: String, device: Device) -> Self {
        let mut interface = Self {
            name,
            device,
            address: [0; 6],
            admin_up: false,
            link_mtu: 0,
            mtu: [0; 4],
            tag: FixedText::default(),
            bridge: None,
        };
        if interface.is_ethernet() {
            interface.link_mtu = DEFAULT_MTU;
            interface.mtu = [DEFAULT_MTU.into(), 0, 0, 0];
        }
        interface
    }

    fn is_ethernet(&self) -> bool {
        match &self.device {
            Device::Local => false,
            Device::Memif(memif) => memif.mode == MemifMode::Ethernet,
            Device::Loopback { .. } | Device::Vhost(_) | Device::AfPacket(_) => true,
        }
    }

    /// No peer ever connects; a device has its link.
    pub(super) fn flags(&self) -> IfStatusFlags {
        match (self.admin_up, &self.device) {
            (true, Device::Loopback { .. } | Device::AfPacket(_)) => IfStatusFlags::ADMIN_UP | IfStatusFlags::LINK_UP,
            (true, _) => IfStatusFlags::ADMIN_UP,
            (false, _) => IfStatusFlags::default(),
        }
    }

    /// The name as it is in details.
    pub(super) fn shown_name(&self) -> FixedText<64> {
        FixedText::new(self.name.as_str()).unwrap_or_default()
    }

    fn details(&self, sw_if_index: u32, rewrite: Rewrite) -> SwInterfaceDetails {
        let device_type = match &self.device {
            Device::Local => "local",
            Device::Loopback { .. } => "Loopback",
            Device::Memif(_) => "memif",
            Device::Vhost(_) => "vhost-user",
            Device::AfPacket(_) => "af-packet",
        };
        SwInterfaceDetails {
            sw_if_index,
            sup_sw_if_index: sw_if_index,
            l2_address: self.address,
            flags: self.flags(),
            link_mtu: self.link_mtu,
            mtu: self.mtu,
            vtr_op: rewrite.operation,
            vtr_push_dot1q: rewrite.push_dot1q.into(),
            vtr_tag1: rewrite.tags.0.into(),
            vtr_tag2: rewrite.tags.1.into(),
            interface_name: self.shown_name(),
            interface_dev_type: FixedText::new(device_type).unwrap_or_default(),
            tag: self.tag.clone(),
            ..SwInterfaceDetails::default()
        }
    }

    /// Sets the MTU of the link, and that of layer 3 with it, if the device can.
    fn set_link_mtu(&mut self, mtu: u16) -> Result<(), ReturnCode> {
        match &self.device {
            _ if !self.is_ethernet() => Err(ReturnCode::FeatureDisabled),
            Device::Memif(_) | Device::AfPacket(_) => {
                self.link_mtu = mtu;
                let [layer_3, ..] = &mut self.mtu;
                *layer_3 = mtu.into();
                Ok(())
            }
            _ if self.link_mtu == mtu => Ok(()),
            _ => Err(ReturnCode::Unsupported),
        }
    }
}

impl List for SwInterfaceDump {
    /// A filter counts more than an index, and 0 is all.
    fn list(&self, state: &State) -> Vec<SwInterfaceDetails> {
        let all = state.interfaces.iter();
        let filter = self.name_filter.as_str().to_ascii_lowercase();
        let shown = all.filter(|(index, interface)| match self.name_filter_valid {
            true => interface.name.to_ascii_lowercase().contains(&filter),
            false => matches!(self.sw_if_index, 0 | NO_INTERFACE) || *index == self.sw_if_index,
        });
        shown.map(|(index, interface)| interface.details(index, state.rewrite(index))).collect()
    }
}

impl Handle for SwInterfaceSetFlags {
    /// The link's state is not for clients to set.
    fn handle(&self, state: &mut State) -> Result<SwInterfaceSetFlagsReply, Failure> {
        let interface = state.interface(self.sw_if_index)?;
        let admin_up = self.flags.contains(IfStatusFlags::ADMIN_UP);
        if std::mem::replace(&mut interface.admin_up, admin_up) != admin_up {
            let link_up = interface.flags().contains(IfStatusFlags::LINK_UP);
            let event = state.events.entry(self.sw_if_index).or_default();
            event.admin_up |= admin_up;
            event.link_up |= link_up;
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
    /// What takes tags away is for interfaces of one VLAN, which the simulator has none of. The refusal forgets the tags.
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
            Device::Local | Device::Memif(_) | Device::Vhost(_) | Device::AfPacket(_) => None,
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
