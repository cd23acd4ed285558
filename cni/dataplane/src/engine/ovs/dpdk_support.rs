//! What the running switch can do with NICs by DPDK. Pure.

use crate::model::observed::DpdkSupport;
use std::collections::BTreeMap;
use usnet_ovsdb::OpenVswitch;

/// The type of interface that every switch with DPDK has, and none without.
const OF_DPDK: &str = "dpdk";
/// The arguments of DPDK, which the switch reads when it starts.
const ARGUMENTS_KEY: &str = "dpdk-extra";
/// The argument that lets DPDK have a device, in each of its forms.
const ALLOW: [&str; 4] = ["-a", "--allow", "-w", "--pci-whitelist"];

const WITHOUT_DPDK: &str = "Open vSwitch runs without DPDK: ovs-vsctl set Open_vSwitch . \
     other_config:dpdk-socket-mem=1024 other_config:dpdk-extra=\"-a 0000:00:00.0\" other_config:dpdk-init=true; \
     restart ovs-vswitchd, and see its log if that fails";
const WITHOUT_PCI: &str = "Open vSwitch runs with dpdk-extra=--no-pci, with which it has no NICs: ovs-vsctl set \
     Open_vSwitch . other_config:dpdk-extra=\"-a 0000:00:00.0\"; restart ovs-vswitchd";

/// Whether the running switch has DPDK. By the types of its interfaces: after a start they are true
/// at once, while `dpdk_initialized` is that of the switch before until the status is next written.
pub(super) fn has_dpdk(open_vswitch: &OpenVswitch) -> bool {
    open_vswitch.iface_types.contains(OF_DPDK)
}

/// What a switch with this row can do. Before it has written the types of its interfaces, nothing
/// is said against it.
pub(super) fn dpdk_support(open_vswitch: &OpenVswitch) -> DpdkSupport {
    let OpenVswitch { iface_types, other_config, .. } = open_vswitch;
    let arguments: Vec<&str> = arguments(other_config).collect();
    let has_dpdk = has_dpdk(open_vswitch);
    let unusable = match (has_dpdk, arguments.contains(&"--no-pci")) {
        _ if iface_types.is_empty() => None,
        (false, _) => Some(WITHOUT_DPDK),
        (true, true) => Some(WITHOUT_PCI),
        (true, false) => None,
    };
    let takes_all = has_dpdk && !arguments.iter().any(|argument| ALLOW.iter().any(|allow| is(argument, allow)));
    DpdkSupport { unusable: unusable.map(str::to_owned), takes_all }
}

fn arguments(other_config: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    other_config.get(ARGUMENTS_KEY).into_iter().flat_map(|text| text.split_whitespace())
}

/// Whether an argument is this one, with its value behind it or in the next one.
fn is(argument: &str, name: &str) -> bool {
    argument == name
        || argument.strip_prefix(name).is_some_and(|value| !name.starts_with("--") || value.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_ovsdb::{Row, TableRow, Value};

    fn support(has_dpdk: bool, extra: Option<&str>) -> DpdkSupport {
        let extra = extra.map(|extra| (ARGUMENTS_KEY, extra));
        // What a switch before it left is the opposite.
        let row = Row::new()
            .with("dpdk_initialized", !has_dpdk)
            .with("iface_types", Value::set(has_dpdk.then_some(OF_DPDK).into_iter().chain(["system"])))
            .with("other_config", Value::map(extra));
        let uuid = "00000000-0000-4000-8000-000000000001".parse().unwrap();
        dpdk_support(&OpenVswitch::from_row(uuid, &row).unwrap())
    }

    #[test]
    fn a_switch_takes_all_devices_unless_it_is_told_which() {
        for all in [None, Some(""), Some("--in-memory"), Some("-b 0000:02:00.0"), Some("--file-prefix=-a --allowed")] {
            assert_eq!(support(true, all), DpdkSupport { unusable: None, takes_all: true }, "{all:?}");
        }
        for named in ["-a 0000:00:00.0", "--in-memory -a0000:02:00.0", "--allow=0000:02:00.0", "-w 0000:02:00.0"] {
            assert_eq!(support(true, Some(named)), DpdkSupport::default(), "{named}");
        }
    }

    #[test]
    fn a_switch_without_dpdk_or_pci_says_what_to_set() {
        let without = support(false, Some("-a 0000:00:00.0")).unusable.unwrap();
        assert!(without.contains("dpdk-init=true"), "{without}");
        let without = support(true, Some("--in-memory --no-pci")).unusable.unwrap();
        assert!(without.contains("--no-pci"), "{without}");
    }
}
