//! A network interface of a domain that is a vhost-user port.

use super::guest_device::GuestDevice;
use quick_xml::escape::escape;
use std::fmt::Write;
use usnet_crds::MacAddress;

/// The maximum length of a unix socket's path, in bytes.
pub const SOCKET_PATH_MAX: usize = 107;
/// QEMU's minimum and maximum size of a virtio device's rings.
const RING_SIZES: (u16, u16) = (256, 1024);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// The name of the network in the VirtualMachine.
    pub network: String,
    /// The path of the socket, as QEMU sees it.
    pub socket: String,
    /// Whether QEMU creates the socket and listens.
    pub listens: bool,
    /// The MAC address; none lets libvirt choose one.
    pub mac: Option<MacAddress>,
    /// The MTU; none lets the guest choose it.
    pub mtu: Option<u16>,
    /// The number of queue pairs.
    pub queues: u32,
    /// The number of descriptors in each ring.
    pub ring_size: u16,
    /// The device that the guest sees.
    pub device: GuestDevice,
}

impl Nic {
    /// The alias, by which KubeVirt finds the interface of a network.
    pub fn alias(&self) -> String {
        format!("ua-{}", self.network)
    }

    /// The XML element, with the address of the interface that it replaces.
    pub(super) fn element(&self, kept_address: &str) -> String {
        let ring_size = self.ring_size.clamp(RING_SIZES.0, RING_SIZES.1);
        let (socket, mode) = (escape(&self.socket), if self.listens { "server" } else { "client" });
        // Without a reconnect, QEMU as a client would exit when the engine is restarted.
        let reconnect = if self.listens { "/>" } else { "><reconnect enabled='yes' timeout='1'/></source>" };
        let mut text =
            format!("<interface type='vhostuser'><source type='unix' path='{socket}' mode='{mode}'{reconnect}");
        // Writing to a string does not fail.
        if let Some(mac) = &self.mac {
            let _written = write!(text, "<mac address='{mac}'/>");
        }
        if let Some(mtu) = self.mtu {
            let _written = write!(text, "<mtu size='{mtu}'/>");
        }
        let (queues, alias) = (self.queues, self.alias());
        let (model, rest) = (self.device.model(), self.device.elements(kept_address));
        let _written = write!(
            text,
            "<model type='{model}'/><driver name='vhost' queues='{queues}' rx_queue_size='{ring_size}' tx_queue_size='{ring_size}'/><alias name='{}'/>{rest}</interface>",
            escape(&alias)
        );
        text
    }
}
