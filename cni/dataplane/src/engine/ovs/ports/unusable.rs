//! The types of ports that the running switch cannot have. Pure.

use super::{device, vhost_user};
use std::collections::BTreeMap;
use usnet_crds::{EngineKind, PortType};
use usnet_ovsdb::OpenVswitch;

/// Why a switch without DPDK has no vhost-user ports, and what to do.
const WITHOUT_DPDK: &str = "Open vSwitch runs without DPDK, which vhost-user ports need: set \
     other_config:dpdk-init=true of its database, look for the reason in the log of ovs-vswitchd, and restart it";

/// The types that a switch cannot create interfaces for, each with the reason. Before the switch
/// has written what it can create, everything is taken to be possible.
pub(in crate::engine::ovs) fn unusable_types(open_vswitch: &OpenVswitch) -> BTreeMap<PortType, String> {
    let types = EngineKind::OpenVswitch.traits().port_types.iter();
    types.filter_map(|port_type| Some((*port_type, unusable(open_vswitch, *port_type)?))).collect()
}

fn unusable(OpenVswitch { iface_types, dpdk_initialized, .. }: &OpenVswitch, port_type: PortType) -> Option<String> {
    let interface_type = match port_type {
        PortType::VhostUser => vhost_user::INTERFACE_TYPE,
        PortType::Veth => device::INTERFACE_TYPE,
        // The engine has none at all, and the API rejects it.
        PortType::Memif => return None,
    };
    if iface_types.is_empty() || iface_types.contains(interface_type) {
        return None;
    }
    Some(match port_type {
        PortType::VhostUser if !dpdk_initialized => WITHOUT_DPDK.to_owned(),
        _ => format!("Open vSwitch has no interfaces of the type {interface_type}: use a release that has them"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_ovsdb::{Row, TableRow, Value};

    fn unusable(dpdk: bool, types: &[&str]) -> Vec<(PortType, String)> {
        let types = Value::set(types.iter().copied());
        let row = Row::new().with("dpdk_initialized", dpdk).with("iface_types", types);
        let uuid = "00000000-0000-4000-8000-000000000001".parse().unwrap();
        unusable_types(&OpenVswitch::from_row(uuid, &row).unwrap()).into_iter().collect()
    }

    #[test]
    fn a_switch_without_dpdk_has_no_vhost_user_ports_and_says_what_to_set() {
        assert_eq!(unusable(true, &["dpdkvhostuserclient", "system"]), []);
        assert_eq!(unusable(false, &[]), [], "it has not written anything yet");
        let found = unusable(false, &["internal", "system"]);
        let [(PortType::VhostUser, reason)] = found.as_slice() else { panic!("{found:?}") };
        assert!(reason.contains("without DPDK") && reason.contains("dpdk-init=true"), "{reason}");
    }

    #[test]
    fn a_switch_that_lacks_another_type_is_told_apart() {
        let found = unusable(true, &["internal"]);
        let [(PortType::VhostUser, vhost), (PortType::Veth, veth)] = found.as_slice() else { panic!("{found:?}") };
        assert!(vhost.contains("dpdkvhostuserclient") && veth.contains("type system"), "{vhost} {veth}");
    }
}
