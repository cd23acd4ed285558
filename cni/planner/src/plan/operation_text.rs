//! The texts of operations, which logs and the history of a node show. An operation that failed is
//! recognised by its text.

use super::operation::Op;
use crate::model::bridge::DesiredBridge;
use crate::model::bridge_settings::desired_settings;
use crate::model::owner::{NetworkDeviceRole, Owner};
use crate::model::port::{DesiredPort, PortBackend, queues_text};
use crate::model::tagging::Tagging;
use crate::model::underlay::UplinkAddress;
use std::fmt;
use usnet_crds::{BridgeName, Vlan};

impl Op {
    /// What it is about, for an error.
    pub fn subject(&self) -> String {
        match self {
            Self::RemoveBridge { bridge, .. } => format!("bridge {bridge}"),
            Self::CreateBridge { bridge } | Self::TakeOverBridge { bridge } | Self::UpdateBridge { bridge } => {
                format!("bridge {}", bridge.name())
            }
            Self::RemovePort { port, .. } => format!("port {port}"),
            Self::TakeOverPort { port } | Self::UpdatePort { port } => format!("port {}", port.name),
            Self::CreatePort { port } => subject_of(port),
            Self::SetAddress { uplink, .. } => format!("the address on uplink {uplink}"),
            Self::Routing(operation) => operation.subject(),
        }
    }
}

fn subject_of(port: &DesiredPort) -> String {
    match (&port.owner.owner, &port.pair) {
        (Owner::Patch(_), Some(far)) => format!("patch ports {} and {}", port.name, far.name),
        (Owner::Patch(patch), None) => {
            format!("the connection of network {} to uplink {}", patch.network, patch.uplink)
        }
        (Owner::Tunnel(_), _) => format!("tunnel {}", port.name),
        _ => format!("port {}", port.name),
    }
}

impl fmt::Display for Op {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RemovePort { bridge, port, owner, .. } => match (bridge, &owner.owner) {
                (Some(bridge), owner) => write!(formatter, "remove port {port} of {owner} from bridge {bridge}"),
                (None, Owner::Nic(nic)) => write!(formatter, "remove NIC {port} of uplink {}", nic.uplink),
                (None, owner) => write!(formatter, "remove port {port} of {owner}, which is on no bridge"),
            },
            Self::RemoveBridge { bridge, owner } => write!(formatter, "remove bridge {bridge} of {owner}"),
            Self::CreateBridge { bridge: DesiredBridge::Network { network, bridge, .. } } => {
                write!(formatter, "create bridge {} for network {network}", bridge.name)
            }
            Self::CreateBridge { bridge: DesiredBridge::Uplink { uplink, name } } => {
                write!(formatter, "create bridge {name} of uplink {uplink}")
            }
            Self::UpdateBridge { bridge: DesiredBridge::Network { network, bridge, policy_zone } } => {
                let settings = desired_settings(bridge, *policy_zone);
                write!(formatter, "set {settings} and the kind of bridge {} of network {network}", bridge.name)
            }
            Self::UpdateBridge { bridge: DesiredBridge::Uplink { uplink, name } } => {
                write!(formatter, "restore the kind of bridge {name} of uplink {uplink}")
            }
            Self::TakeOverBridge { bridge } => {
                write!(formatter, "take over bridge {} for {}", bridge.name(), bridge.owner())
            }
            Self::TakeOverPort { port } => {
                let bridge = port.bridge_name().map_or("none", BridgeName::as_str);
                write!(formatter, "take over port {} of {} on bridge {bridge}", port.name, port.owner.owner)
            }
            Self::CreatePort { port } => create_port(port, formatter),
            Self::UpdatePort { port } => update_port(port, formatter),
            Self::SetAddress { uplink, address: Some(UplinkAddress { address, vlan, .. }), .. } => {
                write!(formatter, "set address {address} on uplink {uplink} ")?;
                in_vlan(&Tagging::of_uplink_vlan(*vlan), formatter)
            }
            Self::SetAddress { uplink, address: None, .. } => {
                write!(formatter, "remove the address on uplink {uplink}")
            }
            Self::Routing(operation) => operation.fmt(formatter),
        }
    }
}

fn update_port(
    DesiredPort { name, owner, settings, .. }: &DesiredPort,
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match &owner.owner {
        Owner::Nic(nic) => {
            let vlans = settings.tagging.as_ref().map_or_else(|| "nothing".to_owned(), Tagging::of_nic_text);
            let mtu = settings.mtu.requested().map(|mtu| format!(", MTU {mtu}")).unwrap_or_default();
            let queues = settings.receive_queues.map(|queues| format!(", {}", queues_text(queues))).unwrap_or_default();
            write!(formatter, "set {vlans}{mtu}{queues} on NIC {name} of uplink {}", nic.uplink)
        }
        owner => write!(formatter, "set {settings} on port {name} of {owner}"),
    }
}

fn create_port(port: &DesiredPort, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let name = &port.name;
    let bridge = port.bridge_name().map_or("none", BridgeName::as_str);
    match &port.owner.owner {
        Owner::Nic(nic) => {
            let device = port.backend.endpoint_name();
            write!(formatter, "join NIC {device} of uplink {}", nic.uplink)?;
            match port.settings.tagging.as_ref().filter(|_| port.bridge.is_some()) {
                Some(tagging) => write!(formatter, " to bridge {bridge} for {}", tagging.of_nic_text()),
                None => Ok(()),
            }
        }
        Owner::Patch(patch) => {
            write!(formatter, "connect network {} to uplink {} ", patch.network, patch.uplink)?;
            port.uplink_tagging().map_or(Ok(()), |tagging| in_vlan(tagging, formatter))
        }
        Owner::Network(device) => {
            let of_node = match device.role {
                NetworkDeviceRole::Overlay => "",
                NetworkDeviceRole::NodeAccess => " by which the node is in it",
            };
            write!(formatter, "join device {name} of network {}{of_node} to bridge {bridge}", device.network)
        }
        Owner::Tunnel(tunnel) => {
            write!(formatter, "create the tunnel of network {} to {}", tunnel.network, tunnel.peer)?;
            if let Some(uplink) = &port.uplink {
                write!(formatter, " over uplink {uplink}")?;
            }
            match &port.backend {
                PortBackend::Vxlan { ends } => write!(formatter, ", VNI {} at UDP port {}", ends.vni, ends.port),
                _ => Ok(()),
            }
        }
        Owner::Attachment(attachment) => write!(formatter, "create port {name} of {attachment} on bridge {bridge}"),
    }
}

fn in_vlan(tagging: &Tagging, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match tagging {
        Tagging::Vlan(Vlan::Access { tag }) => write!(formatter, "in VLAN {tag}"),
        _ => formatter.write_str("without a VLAN"),
    }
}
