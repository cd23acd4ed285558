//! The types of ports that the running switch cannot have. Pure.

use super::{afxdp, device, vhost_user};
use crate::engine::ovs::dpdk_support::has_dpdk;
use std::collections::BTreeMap;
use usnet_crds::{EngineKind, PortType};
use usnet_ovsdb::OpenVswitch;

/// Why a switch without DPDK has no vhost-user ports, and what to do. The memory comes first: a
/// running switch starts DPDK as soon as `dpdk-init` is set, and ends if it has too little.
const WITHOUT_DPDK: &str = "Open vSwitch runs without DPDK, which vhost-user ports need: \
     ovs-vsctl set Open_vSwitch . other_config:dpdk-socket-mem=1024; \
     ovs-vsctl set Open_vSwitch . other_config:dpdk-init=true; restart ovs-vswitchd, and see its log if that fails";
/// The same of a switch that was built without DPDK.
const BUILT_WITHOUT_DPDK: &str = "Open vSwitch is built without DPDK, which vhost-user ports need: install an \
     ovs-vswitchd with DPDK (of Debian and Ubuntu: openvswitch-switch-dpdk), and set \
     other_config:dpdk-socket-mem=1024 and other_config:dpdk-init=true with ovs-vsctl set Open_vSwitch .";
/// Why a switch with segmentation offload has no devices by AF_XDP. Open vSwitch 3.1 takes such
/// ports for ones that finish packets: it sends them with wrong checksums, and copies those of 64
/// KiB over the frames beside theirs, so that bytes of them leave as frames of their own, whatever
/// guards and policies allow.
const WITH_SEGMENTATION: &str = "Open vSwitch has segmentation offload (userspace-tso-enable=true), and AF_XDP would send unfinished packets: \
     set it to false, or port.veth.datapath to Kernel; delete pods that have AF_XDP";
/// What Open vSwitch gives as its version of DPDK if it was built without.
const NO_VERSION: &str = "none";

/// The types that a switch cannot create interfaces for, each with the reason. Before the switch
/// has written what it can create, everything is taken to be possible.
pub(in crate::engine::ovs) fn unusable_types(open_vswitch: &OpenVswitch) -> BTreeMap<PortType, String> {
    let types = EngineKind::OpenVswitch.traits().port_types.iter();
    types.filter_map(|port_type| Some((*port_type, unusable(open_vswitch, *port_type)?))).collect()
}

fn unusable(open_vswitch: &OpenVswitch, port_type: PortType) -> Option<String> {
    let OpenVswitch { iface_types, dpdk_version, .. } = open_vswitch;
    let interface_type = match port_type {
        PortType::VhostUser => vhost_user::INTERFACE_TYPE,
        PortType::Veth => device::INTERFACE_TYPE,
        // The engine has none at all, and the API rejects them.
        PortType::Memif | PortType::Tap => return None,
    };
    if iface_types.is_empty() || iface_types.contains(interface_type) {
        return None;
    }
    Some(match port_type {
        PortType::VhostUser if dpdk_version.as_deref() == Some(NO_VERSION) => BUILT_WITHOUT_DPDK.to_owned(),
        PortType::VhostUser if !has_dpdk(open_vswitch) => WITHOUT_DPDK.to_owned(),
        _ => format!("Open vSwitch has no interfaces of the type {interface_type}: use a release that has them"),
    })
}

/// Why a switch cannot have devices by AF_XDP, if it cannot.
pub(in crate::engine::ovs) fn without_af_xdp(open_vswitch: &OpenVswitch, has_segmentation: bool) -> Option<String> {
    if has_segmentation {
        return Some(WITH_SEGMENTATION.to_owned());
    }
    let types = &open_vswitch.iface_types;
    let is_lacking = !types.is_empty() && !types.contains(afxdp::INTERFACE_TYPE);
    is_lacking.then(|| {
        let name = afxdp::INTERFACE_TYPE;
        format!("Open vSwitch is built without AF_XDP and has no interfaces of the type {name}: install one that has them (of Debian and Ubuntu: openvswitch-switch-dpdk), or set port.veth.datapath to Kernel")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_ovsdb::{Row, TableRow, Value};

    fn unusable(types: &[&str]) -> Vec<(PortType, String)> {
        unusable_of_version("DPDK 22.11.11", types)
    }

    fn unusable_of_version(version: &str, types: &[&str]) -> Vec<(PortType, String)> {
        let row = Row::new().with("dpdk_version", version).with("iface_types", Value::set(types.iter().copied()));
        let uuid = "00000000-0000-4000-8000-000000000001".parse().unwrap();
        unusable_types(&OpenVswitch::from_row(uuid, &row).unwrap()).into_iter().collect()
    }

    #[test]
    fn a_switch_without_dpdk_has_no_vhost_user_ports_and_says_what_to_set() {
        assert_eq!(unusable(&["dpdk", "dpdkvhostuserclient", "system"]), []);
        assert_eq!(unusable(&[]), [], "it has not written anything yet");
        let found = unusable(&["internal", "system"]);
        let [(PortType::VhostUser, reason)] = found.as_slice() else { panic!("{found:?}") };
        assert!(reason.contains("without DPDK") && reason.matches("ovs-vsctl set").count() == 2, "{reason}");
        // It is in the message of an attachment, after the name of the interface.
        assert!(reason.len() + "interface net1: ".len() <= 256, "{}", reason.len());
        let found = unusable_of_version("none", &["internal", "system"]);
        assert!(found[0].1.contains("built without DPDK") && found[0].1.contains("install"), "{found:?}");
    }

    #[test]
    fn a_switch_without_af_xdp_says_so_once_it_has_written_what_it_has() {
        let without = |types: &[&str]| {
            let row = Row::new().with("iface_types", Value::set(types.iter().copied()));
            let uuid = "00000000-0000-4000-8000-000000000001".parse().unwrap();
            without_af_xdp(&OpenVswitch::from_row(uuid, &row).unwrap(), false)
        };
        assert_eq!((without(&[]), without(&["afxdp", "system"])), (None, None));
        assert!(without(&["system"]).unwrap().contains("built without AF_XDP"));
    }

    #[test]
    fn a_switch_that_lacks_another_type_is_told_apart() {
        let found = unusable(&["dpdk", "internal"]);
        let [(PortType::VhostUser, vhost), (PortType::Veth, veth)] = found.as_slice() else { panic!("{found:?}") };
        assert!(vhost.contains("dpdkvhostuserclient") && veth.contains("type system"), "{vhost} {veth}");
    }
}
