//! A network interface of a domain that is a vhost-user port.

use super::guest_device::GuestDevice;
use quick_xml::escape::escape;
use std::fmt::Write;
use usnet_crds::MacAddress;

/// Longest path of a unix socket, in bytes.
pub const SOCKET_PATH_MAX: usize = 107;
/// The limits of QEMU for the rings of a virtio device.
const RING_SIZES: (u16, u16) = (256, 1024);

/// A network interface of a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// The name of its network in the VirtualMachine.
    pub network: String,
    /// The socket, as QEMU sees it.
    pub socket: String,
    /// QEMU creates the socket and listens.
    pub listens: bool,
    /// Its MAC address; none lets libvirt choose one.
    pub mac: Option<MacAddress>,
    /// Its MTU; none lets the guest choose it.
    pub mtu: Option<u16>,
    /// Queue pairs.
    pub queues: u32,
    /// Descriptors of each ring.
    pub ring_size: u16,
    /// The device that the guest sees.
    pub device: GuestDevice,
}

impl Nic {
    /// The name of its alias, by which KubeVirt finds the interface of a network.
    pub fn alias(&self) -> String {
        format!("ua-{}", self.network)
    }

    /// Its element, with the address of the one that it replaces.
    pub(super) fn element(&self, kept_address: &str) -> String {
        let ring_size = self.ring_size.clamp(RING_SIZES.0, RING_SIZES.1);
        let (socket, mode) = (escape(&self.socket), if self.listens { "server" } else { "client" });
        // QEMU as a client ends when the engine is restarted, unless it connects again.
        let reconnect = if self.listens { "/>" } else { "><reconnect enabled='yes' timeout='1'/></source>" };
        let mut text =
            format!("<interface type='vhostuser'><source type='unix' path='{socket}' mode='{mode}'{reconnect}");
        // Writing to text does not fail.
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
