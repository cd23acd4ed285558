//! Interfaces of any kind.

use crate::simulator::model::device::Device;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{IfStatusFlags, IfType, MemifMode, RxMode, SubIfFlags, SwInterfaceDetails, VtrOp};
use usnet_vpp::wire::FixedText;

/// The initial MTU of Ethernet interfaces, in bytes.
const DEFAULT_MTU: u16 = 9000;

#[derive(Debug)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) device: Device,
    pub(crate) address: [u8; 6],
    pub(crate) admin_up: bool,
    pub(crate) link_mtu: u16,
    pub(crate) mtu: [u32; 4],
    pub(crate) tag: FixedText<64>,
    /// The id of the bridge domain, and the split horizon group in it.
    pub(crate) bridge: Option<(u32, u8)>,
    /// The only pair of queues.
    pub(crate) queue: Option<Queue>,
}

/// A pair of queues.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) mode: RxMode,
    /// The threads that send by it.
    pub(crate) threads: Vec<u32>,
}

/// An operation on VLAN tags.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rewrite {
    pub(crate) operation: VtrOp,
    pub(crate) push_dot1q: bool,
    pub(crate) tags: (u16, u16),
}

impl Interface {
    pub(crate) fn new(name: String, device: Device) -> Self {
        let queue = matches!(device, Device::AfPacket(_));
        let mut interface = Self {
            queue: queue.then(|| Queue { mode: RxMode::Interrupt, threads: vec![0] }),
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

    pub(crate) fn is_ethernet(&self) -> bool {
        match &self.device {
            Device::Local => false,
            Device::Memif(memif) => memif.mode == MemifMode::Ethernet,
            Device::Tunnel(tunnel) => !tunnel.is_l3,
            Device::Loopback { .. } | Device::Vhost(_) | Device::AfPacket(_) | Device::Tap(_) | Device::Sub(_) => true,
        }
    }

    /// Whether the interface takes the frames of one VLAN.
    pub(crate) fn has_one_tag(&self) -> bool {
        matches!(&self.device, Device::Sub(sub) if sub.flags.contains(SubIfFlags::ONE_TAG))
    }

    /// Devices of the kernel always have a link, and memif and vhost-user interfaces never have a
    /// peer.
    pub(crate) fn flags(&self) -> IfStatusFlags {
        match (self.admin_up, &self.device) {
            (
                true,
                Device::Loopback { .. } | Device::AfPacket(_) | Device::Tap(_) | Device::Sub(_) | Device::Tunnel(_),
            ) => IfStatusFlags::ADMIN_UP | IfStatusFlags::LINK_UP,
            (true, _) => IfStatusFlags::ADMIN_UP,
            (false, _) => IfStatusFlags::default(),
        }
    }

    /// Returns the name in the form of details.
    pub(crate) fn reported_name(&self) -> FixedText<64> {
        FixedText::new(self.name.as_str()).unwrap_or_default()
    }

    pub(crate) fn details(&self, sw_if_index: u32, rewrite: Rewrite) -> SwInterfaceDetails {
        let device_type = match &self.device {
            Device::Local => "local",
            Device::Loopback { .. } => "Loopback",
            Device::Memif(_) => "memif",
            Device::Vhost(_) => "vhost-user",
            Device::Tunnel(_) => "VXLAN",
            Device::Tap(_) => "tap",
            // A sub-interface has the type of its parent, which is an af_packet interface here.
            Device::AfPacket(_) | Device::Sub(_) => "af-packet",
        };
        let sub = match &self.device {
            Device::Sub(sub) => Some(sub),
            _ => None,
        };
        SwInterfaceDetails {
            sw_if_index,
            sup_sw_if_index: sub.map_or(sw_if_index, |sub| sub.parent),
            r#type: if sub.is_some() { IfType::Sub } else { IfType::Hardware },
            sub_id: sub.map_or(0, |sub| sub.sub_id),
            sub_number_of_tags: u8::from(self.has_one_tag()),
            sub_outer_vlan_id: sub.map_or(0, |sub| sub.vlan),
            sub_if_flags: sub.map_or(SubIfFlags::default(), |sub| sub.flags),
            l2_address: self.address,
            flags: self.flags(),
            link_mtu: self.link_mtu,
            mtu: self.mtu,
            vtr_op: rewrite.operation,
            vtr_push_dot1q: rewrite.push_dot1q.into(),
            vtr_tag1: rewrite.tags.0.into(),
            vtr_tag2: rewrite.tags.1.into(),
            interface_name: self.reported_name(),
            interface_dev_type: FixedText::new(device_type).unwrap_or_default(),
            tag: self.tag.clone(),
            ..SwInterfaceDetails::default()
        }
    }

    /// Sets the MTU of the link, and the MTU of layer 3 with it, if the device can.
    pub(crate) fn set_link_mtu(&mut self, mtu: u16) -> Result<(), ReturnCode> {
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
