//! Overlays that VPP encapsulates: an address on a NIC, and a tunnel of each network to each peer.

mod overlays;

pub(super) use overlays::{Overlays, PEERS, VNI};

use super::uplinks::{NIC, WIRE, index, interfaces, ip, named, plug_nic, set_flags};
use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, observe};
use crate::vpp::other_client::text;
use crate::vpp::switch::{VppSwitch, domain_id};
use overlays::LOCAL;
use std::net::IpAddr;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::plan::{Op, diff, has_address, has_port};
use usnet_dataplane::port::{DesiredPort, PortPolicy};
use usnet_test_vpp::{Breakage, Fault, Moment};
use usnet_vpp::messages::{
    AfPacketDelete, BridgeDomainSwIf, DeleteSubif, IfStatusFlags, L2PortType, SwInterfaceSetL2Bridge,
    VxlanAddDelTunnelV3, VxlanTunnelV2Details, VxlanTunnelV2Dump,
};

fn tunnels(switch: &VppSwitch) -> Vec<VxlanTunnelV2Details> {
    switch.other_client().dump(VxlanTunnelV2Dump { sw_if_index: u32::MAX })
}

/// The other ends of all tunnels with a VNI, in order.
fn peers(switch: &VppSwitch, vni: i64) -> Vec<String> {
    let of_vni = tunnels(switch).into_iter().filter(|tunnel| i64::from(tunnel.vni) == vni);
    let mut peers: Vec<_> = of_vni.filter_map(|tunnel| tunnel.dst_address.ip()).collect();
    peers.sort();
    peers.iter().map(ToString::to_string).collect()
}

fn tunnel_to(switch: &VppSwitch, peer: &str) -> VxlanTunnelV2Details {
    let peer: IpAddr = peer.parse().expect("an address");
    let found = tunnels(switch).into_iter().find(|tunnel| tunnel.dst_address.ip() == Some(peer));
    found.expect("a tunnel")
}

fn members(switch: &VppSwitch, network: &str) -> Vec<BridgeDomainSwIf> {
    let domain = switch.other_client().domains().remove(&domain_id(bridge(&switch.network(network))));
    domain.map_or_else(Vec::new, |domain| domain.sw_if_details)
}

/// Asserts that all is as it should be: on this interface the address and no other, and of each
/// network the tunnels and nothing else.
fn check(switch: &VppSwitch, overlays: &Overlays<'_>, holder: &str, what: &str) {
    let on_nic = named(switch, holder);
    assert!(on_nic.flags.contains(IfStatusFlags::ADMIN_UP), "{what}: {holder} is down");
    let addresses = switch.other_client().addresses(on_nic.sw_if_index);
    assert_eq!(addresses, [overlays.local], "{what}");
    for (name, vni, wanted) in &overlays.networks {
        assert_eq!(peers(switch, *vni), *wanted, "{what}");
        let all = switch.other_client().interfaces();
        let of_vni = tunnels(switch).into_iter().filter(|tunnel| i64::from(tunnel.vni) == *vni);
        let mut indexes: Vec<u32> = of_vni.map(|tunnel| tunnel.sw_if_index).collect();
        for found in all.iter().filter(|found| indexes.contains(&found.sw_if_index)) {
            assert_eq!(found.tag.as_str(), format!("usnet:{name}"), "{what}");
            assert!(found.flags.contains(IfStatusFlags::ADMIN_UP), "{what}");
        }
        let members = members(switch, name);
        assert!(members.iter().all(|member| member.shg == 1), "{what}: {members:?}");
        let mut members: Vec<u32> = members.iter().map(|member| member.sw_if_index).collect();
        indexes.sort_unstable();
        members.sort_unstable();
        assert_eq!(members, indexes, "{what}");
    }
}

pub(crate) fn networks_reach_their_peers_by_tunnels_and_leave_nothing(switch: &mut VppSwitch) {
    let nic = plug_nic();
    let mut engine = switch.engine();
    let blue = Overlays::blue(nic, Some(10));
    let mut both = blue.clone();
    both.networks.push(("red", 7002, vec![PEERS[0]]));
    let spec = both.desired(switch);
    let operations = converge(&mut engine, &spec);
    let texts: Vec<_> = operations.iter().skip(2).map(ToString::to_string).collect();
    assert_eq!(texts[..2], ["join NIC nic0 of uplink fab", "set address 192.168.50.2/24 on uplink fab in VLAN 10"]);
    assert_eq!(texts.len(), 5);
    check(switch, &both, "host-nic0.10", "two networks");
    assert_eq!(named(switch, "host-nic0.10").tag.as_str(), "usnet^fab");
    let observed = observe(&mut engine);
    assert!(spec.tunnels.values().flat_map(|tunnels| tunnels.ports()).all(|port| has_port(&port, &observed)));
    assert!(spec.uplinks.values().all(|uplink| has_address(uplink, &observed)));

    let dump = switch.dump();
    assert!(apply(&mut engine, &operations).iter().all(Result::is_ok));
    assert_eq!(switch.dump(), dump, "a second time nothing is changed");

    let to_first = tunnel_to(switch, PEERS[0]);
    let mut fewer = blue.clone();
    fewer.networks[0].2.pop();
    assert_eq!(converge(&mut engine, &fewer.desired(switch)).len(), 3, "a tunnel of each network, and a bridge");
    check(switch, &fewer, "host-nic0.10", "one peer is gone");
    assert_eq!(tunnel_to(switch, PEERS[0]), to_first, "it was touched");
    let mut other = blue.clone();
    other.networks[0].1 = 7003;
    converge(&mut engine, &other.desired(switch));
    check(switch, &other, "host-nic0.10", "another VNI");
    assert_eq!(tunnels(switch).len(), 2);

    converge(&mut engine, &Desired::default());
    assert_eq!((interfaces(switch), switch.other_client().domains().len()), (Vec::new(), 0));
}

/// Also next to a network that has a VLAN of the same NIC.
pub(crate) fn the_vlan_and_the_address_of_an_underlay_change(switch: &mut VppSwitch) {
    let nic = plug_nic();
    let mut engine = switch.engine();
    for (vlan, local, holder) in [
        (None, LOCAL, "host-nic0"),
        (Some(10), LOCAL, "host-nic0.10"),
        (Some(20), LOCAL, "host-nic0.20"),
        (Some(20), "192.168.50.9/24", "host-nic0.20"),
        (None, "192.168.50.9/25", "host-nic0"),
    ] {
        let overlays = Overlays { local, ..Overlays::blue(nic, vlan) };
        converge(&mut engine, &overlays.desired(switch));
        check(switch, &overlays, holder, holder);
        let on_nic = interfaces(switch).into_iter().filter(|name| name.starts_with("host-nic0."));
        assert_eq!(on_nic.count(), usize::from(vlan.is_some()));
    }
    let green = super::uplinks::on_uplink(switch, "green", Some(100));
    let mut with_green = Overlays::blue(nic, None).desired(switch);
    with_green.networks.insert(green.name.clone(), green.clone().into());
    let with_green = with_green.with_ports(DesiredPort::of_patch(&green, PortPolicy::Ensure));
    converge(&mut engine, &with_green);
    check(switch, &Overlays::blue(nic, None), "host-nic0", "beside a network with a VLAN");
    assert!(interfaces(switch).contains(&"host-nic0.100".to_owned()));
    // The last overlay goes, and the uplink stays.
    let mut without = with_green;
    without.networks.retain(|name, _| name.as_str() == "green");
    without.tunnels.clear();
    without.uplinks.values_mut().for_each(|uplink| uplink.address = None);
    converge(&mut engine, &without);
    assert_eq!(interfaces(switch), ["host-nic0", "host-nic0.100"]);
    let on_nic = index(switch, "host-nic0");
    assert_eq!(switch.other_client().addresses(on_nic), [""; 0]);
}

pub(crate) fn tunnels_of_ipv6_are_as_those_of_ipv4(switch: &mut VppSwitch) {
    let nic = plug_nic();
    let mut engine = switch.engine();
    let networks = vec![("blue", VNI, vec!["fd00:50::3", "fd00:50::4"])];
    let overlays = Overlays { nic, vlan: Some(10), local: "fd00:50::2/64", networks };
    converge(&mut engine, &overlays.desired(switch));
    check(switch, &overlays, "host-nic0.10", "IPv6");
    // VPP cannot have both tunnels at a time.
    let moved = Overlays { local: "fd00:50::9/64", ..overlays };
    converge(&mut engine, &moved.desired(switch));
    check(switch, &moved, "host-nic0.10", "another address");
}

/// A change by another client of VPP, and what it is.
type Change<'a> = (&'static str, Box<dyn Fn() + 'a>);

fn put(switch: &VppSwitch, rx_sw_if_index: u32, bd_id: u32, shg: u8, enable: bool) {
    let port_type = L2PortType::Normal;
    switch.other_client().request(SwInterfaceSetL2Bridge { rx_sw_if_index, bd_id, port_type, shg, enable });
}

fn deletion(tunnel: &VxlanTunnelV2Details) -> VxlanAddDelTunnelV3 {
    VxlanAddDelTunnelV3 { is_add: false, ..creation(tunnel) }
}

fn creation(tunnel: &VxlanTunnelV2Details) -> VxlanAddDelTunnelV3 {
    let VxlanTunnelV2Details { instance, src_address, dst_address, src_port, dst_port, vni, .. } = tunnel.clone();
    let (mcast_sw_if_index, decap_next_index) = (u32::MAX, u32::MAX);
    VxlanAddDelTunnelV3 {
        is_add: true,
        instance,
        src_address,
        dst_address,
        src_port,
        dst_port,
        mcast_sw_if_index,
        encap_vrf_id: 0,
        decap_next_index,
        vni,
        is_l3: false,
    }
}

/// That to the first peer.
fn delete_tunnel(switch: &VppSwitch) {
    let tunnel = tunnel_to(switch, PEERS[0]);
    switch.other_client().request(deletion(&tunnel));
}

fn changes(switch: &VppSwitch) -> Vec<Change<'_>> {
    let tunnel = move || tunnel_to(switch, PEERS[0]);
    let domain = move || domain_id(bridge(&switch.network("blue")));
    let set_address = move |address: (&str, u8), is_add: bool| {
        let holder = index(switch, "host-nic0.10");
        switch.other_client().set_address(holder, address, is_add);
    };
    let delete = move || delete_tunnel(switch);
    let delete_nic = move || {
        switch.other_client().request(AfPacketDelete { host_if_name: text(NIC) });
    };
    let delete_sub = move || {
        let sw_if_index = index(switch, "host-nic0.10");
        switch.other_client().request(DeleteSubif { sw_if_index });
    };
    let set_tunnel_down = move || {
        let name = format!("vxlan_tunnel{}", tunnel().instance);
        set_flags(switch, &name, IfStatusFlags::default());
    };
    let holder_into_domain = move || put(switch, index(switch, "host-nic0.10"), domain(), 0, true);
    vec![
        ("a tunnel is deleted", Box::new(delete)),
        ("a tunnel is in no domain", Box::new(move || put(switch, tunnel().sw_if_index, domain(), 0, false))),
        ("a tunnel is in no group", Box::new(move || put(switch, tunnel().sw_if_index, domain(), 0, true))),
        ("a tunnel is in another domain", Box::new(move || put(switch, tunnel().sw_if_index, 77, 1, true))),
        ("a tunnel is down", Box::new(set_tunnel_down)),
        ("the address is gone", Box::new(move || set_address(("192.168.50.2", 24), false))),
        ("another address is there", Box::new(move || set_address(("192.168.50.77", 24), true))),
        ("another prefix is there", Box::new(move || set_address(("10.99.0.1", 16), true))),
        ("the sub-interface is down", Box::new(move || set_flags(switch, "host-nic0.10", IfStatusFlags::default()))),
        ("the sub-interface is in a domain", Box::new(holder_into_domain)),
        ("the sub-interface is deleted", Box::new(delete_sub)),
        ("the NIC is deleted", Box::new(delete_nic)),
    ]
}

pub(crate) fn what_others_change_of_tunnels_is_repaired(switch: &mut VppSwitch) {
    let overlays = Overlays::blue(plug_nic(), Some(10));
    let spec = overlays.desired(switch);
    let mut engine = switch.engine();
    converge(&mut engine, &spec);
    switch.other_client().add_domain(77, "foreign");
    let before = interfaces(switch);
    for (what, change) in changes(switch) {
        change();
        assert!(!diff(&spec, &observe(&mut engine)).is_empty(), "{what}: the plan is empty");
        converge(&mut engine, &spec);
        check(switch, &overlays, "host-nic0.10", what);
        assert_eq!(interfaces(switch), before, "{what}");
    }
}

pub(crate) fn an_interrupted_creation_of_a_tunnel_is_completed(switch: &mut VppSwitch) {
    let overlays = Overlays::blue(plug_nic(), Some(10));
    let spec = overlays.desired(switch);
    let mut engine = switch.engine();
    converge(&mut engine, &spec);
    let tunnel = tunnel_to(switch, PEERS[0]);
    switch.other_client().request(deletion(&tunnel));
    // As it is before it is tagged.
    let created = switch.other_client().request(creation(&tunnel)).sw_if_index;
    let holder = index(switch, "host-nic0.10");
    switch.other_client().set_tag(holder, "");
    switch.other_client().set_address(holder, ("192.168.50.2", 24), false);
    set_flags(switch, "host-nic0.10", IfStatusFlags::default());
    converge(&mut engine, &spec);
    check(switch, &overlays, "host-nic0.10", "completed");
    assert_eq!((tunnel_to(switch, PEERS[0]).sw_if_index, index(switch, "host-nic0.10")), (created, holder));
    // One that is left over goes with the NIC.
    converge(&mut engine, &Desired::default());
    assert_eq!(interfaces(switch), Vec::<String>::new());
}

/// With a number that VPP chooses, which says that it is not one of usnet, and with a tag.
pub(crate) fn tunnels_of_others_are_not_changed(switch: &mut VppSwitch) {
    let overlays = Overlays::blue(plug_nic(), Some(10));
    let spec = overlays.desired(switch);
    let mut engine = switch.engine();
    converge(&mut engine, &spec);
    let tunnel = tunnel_to(switch, PEERS[0]);
    for (instance, tag, dst_port) in [(u32::MAX, "", 4789), (tunnel.instance, "theirs", 4789), (u32::MAX, "", 4790)] {
        delete_tunnel(switch);
        let theirs = VxlanAddDelTunnelV3 { instance, dst_port, ..creation(&tunnel) };
        let index = switch.other_client().request(theirs).sw_if_index;
        switch.other_client().set_tag(index, tag);
        let before = (tunnels(switch), members(switch, "blue"));
        let operations = diff(&spec, &observe(&mut engine));
        let results = apply(&mut engine, &operations);
        let [Err(error @ OpError::TunnelExists { interface, .. })] = results.as_slice() else {
            panic!("{tag}: {results:?}");
        };
        let found = switch.other_client().interfaces().into_iter().find(|found| found.sw_if_index == index);
        assert_eq!(found.map(|found| found.interface_name.to_string()).as_ref(), Some(interface));
        let message = error.to_string();
        assert!([PEERS[0], "7001", "remove it"].iter().all(|part| message.contains(part)), "{message}");
        assert_eq!((tunnels(switch), members(switch, "blue")), before);
    }
    // Without a network they stay as well.
    converge(&mut engine, &Desired::default());
    assert_eq!(peers(switch, VNI), [PEERS[0]]);
    delete_tunnel(switch);
    converge(&mut engine, &spec);
    check(switch, &overlays, "host-nic0.10", "they are gone");
}

pub(crate) fn tunnels_return_after_a_restart(switch: &mut VppSwitch) {
    let overlays = Overlays::blue(plug_nic(), Some(10));
    let spec = overlays.desired(switch);
    converge(&mut switch.engine(), &spec);
    let before = interfaces(switch);
    switch.kill();
    switch.restart();
    let operations = converge(&mut switch.engine(), &spec);
    let place = |is_it: fn(&Op) -> bool| operations.iter().position(is_it).expect("an operation");
    let places = [
        place(|operation| matches!(operation, Op::CreateBridge { .. })),
        place(|operation| operation.kind() == "JoinNic"),
        place(|operation| matches!(operation, Op::SetAddress { .. })),
        place(|operation| operation.kind() == "CreateTunnel"),
    ];
    assert!(places.is_sorted(), "{places:?}");
    check(switch, &overlays, "host-nic0.10", "restarted");
    assert_eq!(interfaces(switch), before, "the same names");
    assert_eq!(named(switch, "host-nic0").l2_address, super::uplinks::MAC_IN_VPP, "other nodes know its address");
}

/// Another NIC of the same name.
pub(crate) fn an_address_follows_to_another_nic(switch: &mut VppSwitch) {
    let first = plug_nic();
    let mut engine = switch.engine();
    converge(&mut engine, &Overlays::blue(first, Some(10)).desired(switch));
    let before = tunnels(switch);
    ip(&format!("link del {WIRE}"));
    let overlays = Overlays::blue(plug_nic(), Some(10));
    converge(&mut engine, &overlays.desired(switch));
    check(switch, &overlays, "host-nic0.10", "another NIC");
    assert_eq!(tunnels(switch), before, "they were touched");
}

/// Without the plugin nothing of the engine is blocked but tunnels.
pub(crate) fn a_missing_plugin_of_tunnels_is_named(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let results = apply(&mut engine, &diff(&Overlays::blue(plug_nic(), Some(10)).desired(switch), &Default::default()));
    let errors: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).map(ToString::to_string).collect();
    assert_eq!((results.len(), errors.len()), (5, 2), "a bridge, a NIC and an address; two tunnels: {errors:?}");
    assert!(errors.iter().all(|error| error.contains("vxlan_plugin.so")), "{errors:?}");
    converge(&mut engine, &Desired::default());
}

/// Whenever VPP restarts or disconnects, before or after it executed a message.
pub(crate) fn after_any_failure_the_next_plan_repairs_tunnels(switch: &mut VppSwitch) {
    const MANY: u64 = 60;
    let overlays = Overlays::blue(plug_nic(), Some(10));
    let spec = overlays.desired(switch);
    let mut broken = 0;
    for (how, when) in [
        (Breakage::Drop, Moment::Before),
        (Breakage::Drop, Moment::After),
        (Breakage::Restart, Moment::Before),
        (Breakage::Restart, Moment::After),
    ] {
        for nth in 1..MANY {
            let mut engine = switch.engine();
            let simulator = || switch.vpp().simulator().expect("this is a case of the simulator");
            simulator().fault(Fault::Break { how, when, nth });
            let operations = diff(&spec, &Default::default());
            let failed = crate::values::try_apply(&mut engine, &operations).is_err();
            simulator().clear_faults();
            switch.other_client().drop_connection();
            converge(&mut switch.engine(), &spec);
            check(switch, &overlays, "host-nic0.10", &format!("{how:?} {when:?} {nth}"));
            assert_eq!(tunnels(switch).len(), 2);
            converge(&mut switch.engine(), &Desired::default());
            assert_eq!(interfaces(switch), Vec::<String>::new(), "{how:?} {when:?} {nth}");
            if !failed {
                break;
            }
            broken += 1;
        }
    }
    assert!(broken >= 60, "{broken}");
}
