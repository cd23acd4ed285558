//! Messages about an uplink on a node, which the agent writes.

use crate::{EngineKind, Mtu, UplinkName, VlanTag};
use std::fmt::Display;

pub const PENDING: &str = "its NIC is being connected to the engine on this node";

pub const MISSING_PRIVILEGE: &str = "the agent may not use NICs of this node: an uplink needs the node's network namespace (hostNetwork: true) and CAP_NET_ADMIN, which config/overlays/node-local does not give the agent; install config/default";

pub fn nic_not_isolated(nic: &dyn Display, why: &str) -> String {
    format!("NIC {nic} is not used: the node itself would take part in the networks on it: {why}")
}

pub fn nic_missing(wanted: &str) -> String {
    format!(
        "this node has no NIC {wanted} (see ip link): correct spec.nics of the uplink, or add a nodeSelector that leaves this node out"
    )
}

pub fn nic_ambiguous(wanted: &str, found: &[impl Display]) -> String {
    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
    format!("this node has several NICs {wanted}: {}; name one of them in spec.nics of the uplink", found.join(", "))
}

pub fn nic_carries_node(nic: &dyn Display, what: &dyn Display) -> String {
    format!(
        "NIC {nic} of this node {what}: traffic of the node is not touched. Use another NIC, or set nodeTraffic: Shared to share this one (engine OVS, networks with a VLAN)"
    )
}

pub fn nic_shared_untagged(nic: &dyn Display) -> String {
    format!(
        "NIC {nic} of this node is shared with the node, whose untagged frames pods would receive: give each network of the uplink a vlan"
    )
}

pub fn nic_taken(nic: &dyn Display, holder: &str) -> String {
    format!(
        "NIC {nic} of this node already belongs to {holder}, which is not changed: remove it there, or use another NIC"
    )
}

pub fn nic_lost(nic: &dyn Display, renamed: Option<&dyn Display>) -> String {
    match renamed {
        None => format!(
            "NIC {nic} of this node has disappeared: it is connected again as soon as it is back; check its driver and dmesg"
        ),
        Some(name) => format!(
            "NIC {nic} of this node is now called {name}: it works until the engine is restarted; rename it back, or correct spec.nics of the uplink"
        ),
    }
}

pub fn nic_down(nic: &dyn Display) -> String {
    format!("NIC {nic} of this node is down: set it up (ip link set {nic} up); traffic resumes by itself")
}

pub fn nic_without_carrier(nic: &dyn Display) -> String {
    format!(
        "NIC {nic} of this node has no carrier: check its cable and the port of the switch; traffic resumes by itself"
    )
}

pub fn nic_merges_packets(nic: &dyn Display, offloads: impl IntoIterator<Item = impl Display>) -> String {
    let offloads: Vec<_> = offloads.into_iter().map(|offload| offload.to_string()).collect();
    format!(
        "NIC {nic} of this node merges packets that it receives ({}), and its driver did not let the agent switch that off: TCP to pods is slow, because merged packets are larger than the MTU and are lost; switch it off (ethtool -K {nic} {} off), or use another NIC",
        offloads.join(", "),
        offloads.join(" off ")
    )
}

pub fn nic_strips_tags(nic: &dyn Display) -> String {
    format!(
        "NIC {nic} of this node takes off VLAN tags, and its driver did not let the agent switch that off: with AFXDP frames with a tag are lost; switch it off (ethtool -K {nic} rxvlan off), or use the driver AFPacket"
    )
}

pub fn nic_has_program(nic: &dyn Display) -> String {
    format!(
        "NIC {nic} of this node has an XDP program of others, which is not changed: remove it (ip link set {nic} xdp off), or use another NIC or driver"
    )
}

pub fn nic_not_pci(nic: &dyn Display) -> String {
    format!("NIC {nic} of this node is not on the PCI bus: only the driver AFPacket can use it")
}

pub fn engine_takes_devices(nic: &dyn Display, others: &[impl Display]) -> String {
    let others: Vec<_> = others.iter().map(ToString::to_string).collect();
    let what = if others.is_empty() { "no other one yet".to_owned() } else { others.join(", ") };
    format!(
        "NIC {nic} is not used: at its next start the engine would take every NIC on vfio-pci ({what}), also those of pods: set other_config:dpdk-extra=\"-a 0000:00:00.0\" of Open_vSwitch and restart ovs-vswitchd"
    )
}

pub fn nic_not_bound(nic: impl Display, driver: Option<&str>, device: Option<&impl Display>) -> String {
    let driver = driver.map_or("on no driver".to_owned(), |driver| format!("on driver {driver}"));
    let device = device.map(|device| format!(" as {device}")).unwrap_or_default();
    format!(
        "NIC {nic} of this node is {driver}{device}: bind it to vfio-pci (driverctl set-override {nic} vfio-pci), or set dpdk.bind: WhenFree"
    )
}

pub fn no_vfio(nic: impl Display, has_iommu: bool) -> String {
    let remedy = match has_iommu {
        true => "load the module (modprobe vfio-pci)",
        false => "switch the IOMMU on in the firmware and in Linux (intel_iommu=on)",
    };
    let what = if has_iommu { "vfio-pci" } else { "IOMMU" };
    format!("NIC {nic} cannot be taken from its driver: the node has no {what}: {remedy}")
}

pub fn iommu_group_shared(nic: impl Display, members: &[impl Display]) -> String {
    let members: Vec<_> = members.iter().map(ToString::to_string).collect();
    format!(
        "NIC {nic} shares its IOMMU group with {}, which Linux uses: bind all of them to vfio-pci, or use a NIC in another slot",
        members.join(", ")
    )
}

pub fn nic_has_functions(nic: impl Display, count: u32) -> String {
    format!(
        "NIC {nic} has {count} virtual functions, which would be gone: use one of them, or remove them (echo 0 > /sys/bus/pci/devices/{nic}/sriov_numvfs)"
    )
}

pub fn nic_not_taken(nic: &dyn Display, why: &str) -> String {
    format!("NIC {nic} could not be taken from its driver: {why}")
}

/// `problems` has one text for each member.
pub fn bond_degraded(problems: &[String]) -> String {
    format!("members of its bond carry no frames: {}; the others do", problems.join("; "))
}

pub fn member_without_link(member: &str) -> String {
    format!("{member} has no link (check its cable and the port of the switch)")
}

pub fn member_without_partner(member: &str) -> String {
    format!("the switch does not answer {member} by LACP (check its port)")
}

pub fn no_lacp_partner(members: &str) -> String {
    format!(
        "the switch answers none of {members} by LACP, and no frames pass: set up LACP on its ports, as one group, or use bond.mode ActiveBackup"
    )
}

pub fn bridge_exists(bridge: &str) -> String {
    format!(
        "bridge or port {bridge} already exists on this node and is not owned by the uplink; it was not changed: remove it, or use another name for the uplink"
    )
}

pub fn nic_failed(engine: EngineKind, nic: &dyn Display, problem: &str) -> String {
    format!("{engine} cannot use NIC {nic} of this node: {problem}")
}

pub fn change_failed(operation: &dyn Display, problem: &str) -> String {
    format!("could not {operation}: {problem}")
}

pub fn not_ready(uplink: &UplinkName, problem: &str) -> String {
    format!("uplink {uplink}: {problem}")
}

pub fn connecting(uplink: &UplinkName) -> String {
    format!("it is being connected to uplink {uplink} on this node")
}

pub fn mtu_too_large(mtu: Mtu, nic: &dyn Display, nic_mtu: u32) -> String {
    format!(
        "frames with the network's MTU {mtu} do not fit into NIC {nic} of this node, whose MTU is {nic_mtu}: set bridge.mtu to {nic_mtu} or less, or the MTU of {nic} to {mtu} or more"
    )
}

pub fn vlan_taken(vlan: Option<VlanTag>, uplink: &UplinkName, other: &dyn Display) -> String {
    let vlan = vlan.map_or("the untagged frames".to_owned(), |tag| format!("VLAN {tag}"));
    format!("network {other} already has {vlan} of uplink {uplink} on this node: use another vlan")
}

pub fn vlan_of_overlays(vlan: Option<VlanTag>, uplink: &UplinkName) -> String {
    let what = vlan.map_or("the untagged frames belong".to_owned(), |tag| format!("VLAN {tag} belongs"));
    format!("on uplink {uplink}, {what} to the packets of overlays (spec.underlay): use another vlan")
}

pub fn address_failed(device: &dyn Display, problem: &dyn Display) -> String {
    format!("device {device}: {problem}")
}
