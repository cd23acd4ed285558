//! What is read of the NICs of a node.

use crate::{ip, output_of};
use nix::sched::{CloneFlags, unshare};
use usnet_dataplane::links::KernelLinks;
use usnet_dataplane::links::nics::{Nics, ObservedNic, ObservedNics, ReceiveOffload};

/// A network namespace with a NIC `eth1`, whose cable has the end `wire`.
fn node() -> KernelLinks {
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    ip("link add eth1 address 02:00:00:00:00:11 mtu 1400 type veth peer name wire");
    KernelLinks::open(None).expect("a socket")
}

fn observe(links: &mut KernelLinks) -> ObservedNics {
    links.observe_nics().expect("the NICs")
}

fn eth1(links: &mut KernelLinks) -> (u32, ObservedNic) {
    let found = observe(links).nics.into_iter().find(|(_, nic)| nic.name.as_str() == "eth1");
    found.expect("a NIC")
}

#[test]
fn a_nic_is_read_and_set_up() {
    let mut links = node();
    let (index, nic) = eth1(&mut links);
    assert_eq!((nic.mtu, nic.is_up, nic.is_physical), (1400, false, true));
    assert!(nic.macs.contains(&[2, 0, 0, 0, 0, 0x11]) && nic.pci.is_none() && nic.master.is_none());
    assert!(observe(&mut links).may_change);
    links.set_nic_up(index).expect("up");
    let (_, nic) = eth1(&mut links);
    assert_eq!((nic.is_up, nic.has_carrier), (true, false), "its cable is unplugged");
    ip("link set wire up");
    assert!(eth1(&mut links).1.has_carrier);
    for is_promiscuous in [true, false] {
        links.set_nic_promiscuous(index, is_promiscuous).expect("a flag");
        let (_, nic) = eth1(&mut links);
        assert_eq!((nic.is_promiscuous, nic.is_up), (is_promiscuous, true));
    }
}

/// A link-local address is no use of a NIC: it has one whenever it is up.
#[test]
fn what_the_node_uses_a_nic_for_is_read() {
    let mut links = node();
    ip("link set wire up");
    ip("link set eth1 up");
    let (_, nic) = eth1(&mut links);
    assert!(nic.addresses.is_empty() && !nic.has_default_route);
    ip("addr add 10.0.0.7/24 dev eth1");
    assert_eq!(eth1(&mut links).1.addresses, ["10.0.0.7/24".parse().expect("an address")].into());
    assert!(!eth1(&mut links).1.has_default_route, "a route to its own subnet");
    ip("route add default via 10.0.0.1");
    assert!(eth1(&mut links).1.has_default_route);
    ip("addr flush dev eth1");
    ip("link add br0 type bridge");
    ip("link set eth1 master br0");
    let (_, nic) = eth1(&mut links);
    let observed = observe(&mut links);
    let master = nic.master.and_then(|index| observed.nics.get(&index)).expect("the bridge");
    assert_eq!((master.name.as_str(), master.is_physical), ("br0", false));
    ip("link set eth1 nomaster");
    assert_eq!(eth1(&mut links).1.master, None);
}

#[test]
fn what_merges_received_packets_is_read_and_switched() {
    let mut links = node();
    let (index, _) = eth1(&mut links);
    let mut is_on = |change: Option<bool>| {
        if let Some(is_on) = change {
            links.set_receive_offload(index, ReceiveOffload::Gro, is_on).expect("a feature");
        }
        let found = links.receive_offloads(index).expect("its features");
        let of_veth = [ReceiveOffload::Gro, ReceiveOffload::TagStripping];
        assert_eq!(found.changeable, of_veth.into(), "of a veth pair");
        found.on.contains(&ReceiveOffload::Gro)
    };
    assert!(is_on(Some(true)));
    assert!(output_of("ethtool -k eth1").contains("generic-receive-offload: on"));
    assert!(!is_on(Some(false)) && !is_on(None));
    assert!(output_of("ethtool -k eth1").contains("generic-receive-offload: off"));
    assert_eq!(links.receive_offloads(9999).expect("no such device").on, [].into());
    // A driver may refuse without an error.
    let _refused = links.set_receive_offload(index, ReceiveOffload::HardwareGro, true);
    links.set_receive_offload(index, ReceiveOffload::TagStripping, false).expect("a feature");
    assert_eq!(links.receive_offloads(index).expect("its features").on, [].into());
    assert!(output_of("ethtool -k eth1").contains("rx-vlan-offload: off"));
}

#[test]
fn queues_devices_on_a_nic_and_its_name_are_read() {
    let mut links = node();
    ip("link add eth2 numrxqueues 3 numtxqueues 3 type veth peer name wire2");
    let observed = observe(&mut links);
    let (index, nic) = observed.named("eth2").expect("the NIC");
    assert_eq!((links.receive_queues(index).expect("its queues"), nic.has_program, nic.numa_node), (3, false, None));
    assert_eq!(links.receive_queues(9999).expect("no such device"), 1);
    ip("link add link eth2 name above type macvlan");
    let observed = observe(&mut links);
    let (_, above) = observed.named("above").expect("the device");
    assert_eq!((above.lower, above.is_physical), (Some(index), false));
    ip("link del above");
    ip("link set eth2 up");
    links.rename_nic(index, "eth7").expect("a name");
    assert!(observe(&mut links).named("eth7").is_some_and(|(found, _)| found == index));
}
