//! On which bridges pods may leave checksums and the splitting of packets to the switch. Pure.
//!
//! With `other_config:userspace-tso-enable=true` the switch reads from a kernel device, with each
//! packet, what is left to do for it, and hands both on to the device that it sends to, where the
//! kernel does it. Open vSwitch 3.1 drops such a packet where the receiving port cannot do it:
//! tunnels, and NICs by DPDK as far as their driver cannot. It sends the packet as it is to AF_XDP,
//! and to vhost-user ports whose program has not negotiated it, as that of a capture. So all ports
//! that packets may be sent to must be of the kernel.

use super::ports;
use super::snapshot::OvsSnapshot;
use std::collections::BTreeSet;
use std::iter;
use usnet_ovsdb::{Bridge, Port};

/// The names of the bridges.
pub(super) fn bridges(snapshot: &OvsSnapshot) -> BTreeSet<String> {
    if !snapshot.has_segmentation {
        return BTreeSet::new();
    }
    let finishes = |bridge: &&Bridge| {
        let reached = snapshot.ports_of(bridge).filter_map(|port| patched_bridge(snapshot, port));
        iter::once(*bridge).chain(reached).all(|it| snapshot.ports_of(it).all(|port| is_of_kernel(snapshot, port)))
    };
    snapshot.bridges.values().filter(finishes).map(|bridge| bridge.name.clone()).collect()
}

/// Whether the kernel does what is left to do for the packets of a port. A patch port hands them on
/// to another bridge.
fn is_of_kernel(snapshot: &OvsSnapshot, port: &Port) -> bool {
    let mut interfaces = snapshot.interfaces_of(port);
    interfaces.all(|interface| ports::is_of_kernel(interface) || ports::patch_peer(interface).is_some())
}

/// The bridge at the other end of a patch port.
fn patched_bridge<'a>(snapshot: &'a OvsSnapshot, port: &Port) -> Option<&'a Bridge> {
    let far = snapshot.port(ports::patch_peer(snapshot.interface_of(port)?)?)?;
    snapshot.bridges.values().find(|bridge| bridge.ports.contains(&far.uuid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_ovsdb::monitor::{Change, RowUpdate};
    use usnet_ovsdb::schema::TABLES;
    use usnet_ovsdb::{Cache, Row, Uuid, Value};

    fn uuid(number: usize) -> Uuid {
        format!("00000000-0000-4000-8000-0000000000{number:02x}").parse().unwrap()
    }

    /// The bridges of a switch with this setting. Bridge `br0` has ports of these types, and a
    /// patch port to bridge `br1`, which has one more port, of the last type.
    fn found(setting: &str, types: [&str; 2], far: &str) -> Vec<String> {
        let mut cache = Cache::new(&TABLES);
        let mut insert = |table: &str, number: usize, row: Row| {
            let change = Change::Insert(row);
            cache.apply([RowUpdate { table: table.to_owned(), uuid: uuid(number), change }]).unwrap();
        };
        let other_config = Value::map([("userspace-tso-enable", setting)]);
        let bridges = Value::set([uuid(2), uuid(3)]);
        insert("Open_vSwitch", 1, Row::new().with("other_config", other_config).with("bridges", bridges));
        for (bridge, name, ports) in [(2, "br0", 10..13), (3, "br1", 13..15)] {
            let ports = Value::set(ports.map(uuid));
            insert("Bridge", bridge, Row::new().with("name", name).with("ports", ports));
        }
        for (port, kind) in [types[0], types[1], "patch", "patch", far].into_iter().enumerate() {
            let number = port + 10;
            let name = format!("p{number}");
            insert("Port", number, Row::new().with("name", name.as_str()).with("interfaces", uuid(number + 20)));
            let interface = Row::new().with("name", name.as_str()).with("type", kind);
            let peer = if number == 12 { "p13" } else { "p12" };
            let interface =
                if kind == "patch" { interface.with("options", Value::map([("peer", peer)])) } else { interface };
            insert("Interface", number + 20, interface);
        }
        bridges_of(&cache)
    }

    fn bridges_of(cache: &Cache) -> Vec<String> {
        bridges(&OvsSnapshot::from_cache(cache).unwrap()).into_iter().collect()
    }

    #[test]
    fn all_ports_of_a_bridge_and_of_those_that_it_is_patched_to_must_be_of_the_kernel() {
        assert_eq!(found("true", ["internal", "system"], ""), ["br0", "br1"]);
        for other in ["dpdkvhostuserclient", "afxdp", "dpdk", "vxlan"] {
            assert_eq!(
                found("true", ["internal", other], "system"),
                Vec::<String>::new(),
                "{other}: a patch leads there"
            );
            assert_eq!(found("true", ["internal", "system"], other), Vec::<String>::new(), "{other}");
        }
    }

    #[test]
    fn a_switch_without_the_setting_finishes_nothing() {
        for setting in ["false", "1", ""] {
            assert_eq!(found(setting, ["internal", "system"], "system"), Vec::<String>::new(), "{setting}");
        }
    }
}
