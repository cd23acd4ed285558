//! The devices of each kind of interface.

use crate::simulator::model::routing::TableKey;
use std::net::IpAddr;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use usnet_vpp::messages::{MemifMode, MemifRole, SubIfFlags, TapFlags};
use usnet_vpp::wire::FixedText;

const NO_SUCH_FILE: i32 = 2;
const CONNECTION_REFUSED: i32 = 111;

/// The device of an interface.
#[derive(Debug)]
pub(crate) enum Device {
    /// `local0`, which always exists.
    Local,
    Loopback {
        instance: u32,
    },
    Memif(Memif),
    Vhost(Vhost),
    AfPacket(AfPacket),
    Tap(Tap),
    Sub(SubInterface),
    Tunnel(Tunnel),
}

impl Device {
    /// Returns the names of the error counters of a device that cannot send.
    pub(crate) const fn tx_errors(&self) -> &'static [&'static str] {
        match self {
            Self::Local | Self::Loopback { .. } | Self::Tap(_) | Self::Sub(_) | Self::Tunnel(_) => &[],
            Self::Memif(_) => &["no_free_slots", "rollback"],
            Self::Vhost(_) => &[
                "no error",
                "vhost vring not ready",
                "vhost interface is down",
                "tx packet drops (no available descriptors)",
                "tx packet drops (cannot merge descriptors)",
                "mmap failure",
                "indirect descriptor table overflow",
            ],
            Self::AfPacket(_) => {
                &["tx frame not ready", "tx sendto temporary failure", "tx sendto fatal failure", "tx ring overrun"]
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Memif {
    pub(crate) id: u32,
    pub(crate) role: MemifRole,
    pub(crate) mode: MemifMode,
    pub(crate) zero_copy: bool,
    pub(crate) socket_id: u32,
    /// The slot of the socket file at the time of creation. Another file may have the slot now.
    pub(crate) slot: u32,
}

#[derive(Debug)]
pub(crate) struct Vhost {
    pub(crate) path: FixedText<256>,
    /// The number in the interface's name, unless the client chose another.
    pub(crate) number: u32,
    /// The socket on which VPP listens if it is the server.
    pub(crate) listener: Option<UnixListener>,
}

impl Vhost {
    /// Returns the reason why a client is not connected, which it never is.
    pub(crate) fn socket_error(&self) -> i32 {
        match &self.listener {
            Some(_) => 0,
            None if Path::new(self.path.as_str()).exists() => CONNECTION_REFUSED,
            None => NO_SUCH_FILE,
        }
    }
}

/// A device of the kernel, used through `AF_PACKET`.
#[derive(Debug)]
pub(crate) struct AfPacket {
    pub(crate) device: FixedText<64>,
}

impl AfPacket {
    /// Sets the device up or down if it exists: VPP owns the state of the kernel's device.
    pub(crate) fn set_up(&self, is_up: bool) {
        let state = if is_up { "up" } else { "down" };
        let _gone = Command::new("ip").args(["link", "set", "dev", self.device.as_str(), state]).output();
    }
}

/// A persistent tap of the kernel, which the simulator does not open: no program sends over it.
#[derive(Debug)]
pub(crate) struct Tap {
    pub(crate) id: u32,
    pub(crate) namespace: FixedText<64>,
    pub(crate) device: FixedText<64>,
    pub(crate) mac: [u8; 6],
    pub(crate) mtu: u32,
    pub(crate) flags: TapFlags,
}

impl Tap {
    /// Creates the device, or takes the tap of its name, and sets it up. Returns false if that is
    /// impossible.
    pub(crate) fn open(&self) -> bool {
        let device = self.device.as_str();
        let mac = self.mac.map(|byte| format!("{byte:02x}")).join(":");
        let mtu = self.mtu.to_string();
        let is_tap = self.ip(&["tuntap", "add", "dev", device, "mode", "tap", "multi_queue"])
            || self.ip(&["-d", "link", "show", "dev", device, "type", "tun"]);
        is_tap && self.ip(&["link", "set", "dev", device, "address", &mac, "mtu", &mtu, "up"])
    }

    pub(crate) fn delete(&self) {
        self.ip(&["link", "del", "dev", self.device.as_str()]);
    }

    fn ip(&self, arguments: &[&str]) -> bool {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.namespace.as_str())).arg("ip").args(arguments);
        command.output().is_ok_and(|output| output.status.success())
    }
}

#[derive(Debug)]
pub(crate) struct Tunnel {
    /// The number in the interface's name.
    pub(crate) instance: u32,
    /// The slot is the same as the instance unless the client chose another instance.
    pub(crate) slot: u32,
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    /// The UDP ports of VPP and of the remote end.
    pub(crate) ports: (u16, u16),
    /// The routing table that leads to the destination.
    pub(crate) table: TableKey,
    pub(crate) multicast_interface: u32,
    pub(crate) decap_next_index: u32,
    pub(crate) vni: u32,
    pub(crate) is_l3: bool,
}

impl Tunnel {
    /// Returns the values that no two tunnels share. For IPv6 the source is not one of them.
    pub(crate) fn key(&self) -> TunnelKey {
        let source = Some(self.source).filter(|source| source.is_ipv4() && !self.destination.is_multicast());
        TunnelKey { source, destination: self.destination, port: self.ports.0, table: self.table, vni: self.vni }
    }
}

/// The values that identify a tunnel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TunnelKey {
    source: Option<IpAddr>,
    destination: IpAddr,
    port: u16,
    table: TableKey,
    vni: u32,
}

/// A sub-interface, which takes frames of its parent.
#[derive(Debug)]
pub(crate) struct SubInterface {
    pub(crate) parent: u32,
    pub(crate) sub_id: u32,
    pub(crate) flags: SubIfFlags,
    pub(crate) vlan: u16,
}

impl SubInterface {
    /// Whether both sub-interfaces of a parent would take the same frames.
    pub(crate) fn has_frames_of(&self, other: &Self) -> bool {
        let is_default = |sub: &Self| sub.flags.contains(SubIfFlags::DEFAULT);
        is_default(self) == is_default(other) && self.vlan == other.vlan
    }
}
