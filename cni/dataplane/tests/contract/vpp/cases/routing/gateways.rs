//! Gateways and routing tables: created, changed in place, repaired and removed, and those of
//! others left alone.

use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, observe, port_name};
use crate::vpp::other_client::text;
use crate::vpp::switch::{VppSwitch, domain_id};
use usnet_crds::{Gateway, NodeNetwork};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::plan::{Blocker, Op, RoutingOp, blockers, diff};
use usnet_dataplane::routing::NetworkGateway;
use usnet_vpp::messages::{
    CreateLoopbackInstance, IfStatusFlags, IpTableAddDel, SwInterfaceSetFlags, SwInterfaceSetMacAddress,
    SwInterfaceSetTable,
};

const TAG: &str = "usngw:blue";

pub(crate) fn with_gateway(network: &NodeNetwork, addresses: &[&str], domain: Option<&str>) -> NodeNetwork {
    let addresses = addresses.iter().map(|address| address.parse().expect("an address")).collect();
    let routing_domain = domain.map(|domain| domain.parse().expect("a domain"));
    NodeNetwork { gateway: Some(Gateway { addresses, routing_domain }), ..network.clone() }
}

fn set_gateway(network: &NodeNetwork) -> Op {
    RoutingOp::SetGateway { gateway: NetworkGateway::new(network).expect("a gateway") }.into()
}

fn names(operations: &[Op]) -> Vec<String> {
    operations.iter().map(ToString::to_string).collect()
}

/// The names of the tables of one family that usnet owns.
fn tables(switch: &VppSwitch, is_ip6: bool) -> Vec<String> {
    let all = switch.other_client().tables();
    let own = all.iter().filter(|table| table.is_ip6 == is_ip6 && table.name.as_str().starts_with("usn"));
    let mut names: Vec<String> = own.map(|table| table.name.to_string()).collect();
    names.sort();
    names
}

pub(crate) fn a_gateway_is_created_changed_in_place_and_removed(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let plain = switch.network("blue");
    let blue = with_gateway(&plain, &["10.1.0.1/24", "fd00:1::1/64"], Some("a"));
    let operations = converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    let id = bridge(&blue);
    assert_eq!(
        names(&operations)[1..3],
        [
            "create the routing table of domain a".to_owned(),
            format!(
                "set 10.1.0.1/24 and fd00:1::1/64 with the routing table of domain a on the gateway of network blue on bridge {id}"
            ),
        ]
    );
    let created = switch.other_client().tagged(TAG);
    assert_eq!(created.l2_address, Gateway::mac(&blue.name).octets());
    assert_eq!(created.mtu[0], u32::from(blue.bridge.mtu.get()));
    assert_eq!(switch.other_client().addresses(created.sw_if_index), ["10.1.0.1/24", "fd00:1::1/64"]);
    assert_eq!(switch.other_client().domains()[&domain_id(id)].bvi_sw_if_index, created.sw_if_index);
    assert_eq!([tables(switch, false), tables(switch, true)], [["usnrd:a"], ["usnrd:a"]]);

    let dump = switch.dump();
    assert_eq!(apply(&mut engine, &operations), vec![Ok(()); operations.len()]);
    assert_eq!(switch.dump(), dump, "a second time nothing is changed");

    let port = switch.port_identity(&port_name("c1"));
    let changed = with_gateway(&plain, &["10.1.0.254/24"], None);
    assert_eq!(converge(&mut engine, &switch.desired(std::slice::from_ref(&changed), &["c1"])).len(), 3);
    let now = switch.other_client().tagged(TAG);
    assert_eq!((now.sw_if_index, now.interface_name), (created.sw_if_index, created.interface_name));
    assert_eq!(switch.other_client().addresses(now.sw_if_index), ["10.1.0.254/24"]);
    assert_eq!([tables(switch, false), tables(switch, true)], [["usngw:blue"], ["usngw:blue"]]);

    let operations = converge(&mut engine, &switch.desired(std::slice::from_ref(&plain), &["c1"]));
    assert_eq!(names(&operations), ["remove the gateway of network blue", "remove the routing table of network blue"]);
    assert_eq!(switch.port_identity(&port_name("c1")), port, "the pod keeps its port");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    assert_eq!(converge(&mut engine, &Desired::default()).len(), 4, "port, gateway, bridge and table");
    assert_eq!(switch.other_client().tables(), []);
    assert_eq!(switch.other_client().interfaces().len(), 1, "local0");
}

pub(crate) fn networks_of_one_domain_share_a_table(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let network = |name: &str, address: &str, domain| with_gateway(&switch.network(name), &[address], domain);
    let all = [
        network("blue", "10.1.0.1/24", Some("a")),
        network("green", "10.2.0.1/24", Some("a")),
        network("red", "10.1.0.1/24", Some("b")),
        network("white", "10.1.0.1/24", None),
        network("yellow", "10.1.0.1/24", None),
    ];
    converge(&mut engine, &switch.desired(&all, &[]));
    assert_eq!(tables(switch, false), ["usngw:white", "usngw:yellow", "usnrd:a", "usnrd:b"]);
    // A table stays as long as a network of the domain is there.
    let operations = converge(&mut engine, &switch.desired(&all[1..], &[]));
    assert_eq!(operations.len(), 2, "{operations:?}");
    let operations = converge(&mut engine, &switch.desired(&all[2..], &[]));
    assert_eq!(names(&operations).last().map(String::as_str), Some("remove the routing table of domain a"));
    converge(&mut engine, &Desired::default());
    assert_eq!(switch.other_client().tables(), []);
}

pub(crate) fn what_others_change_of_a_gateway_is_repaired(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = with_gateway(&switch.network("blue"), &["10.1.0.1/24", "fd00:1::1/64"], Some("a"));
    let id = domain_id(bridge(&blue));
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    converge(&mut engine, &desired);
    let index = switch.other_client().tagged(TAG).sw_if_index;
    let mut repaired = |what: &str, change: &dyn Fn()| {
        change();
        let operations = converge(&mut engine, &desired);
        assert_eq!(operations, [set_gateway(&blue)], "{what}");
        let now = switch.other_client().tagged(TAG);
        assert_eq!(switch.other_client().domains()[&id].bvi_sw_if_index, now.sw_if_index, "{what}");
        assert_eq!(switch.other_client().addresses(now.sw_if_index), ["10.1.0.1/24", "fd00:1::1/64"], "{what}");
        assert_eq!(now.l2_address, Gateway::mac(&blue.name).octets(), "{what}");
    };
    let no_flags = IfStatusFlags::default();
    repaired("an address is gone", &|| switch.other_client().set_address(index, ("10.1.0.1", 24), false));
    repaired("an address more", &|| switch.other_client().set_address(index, ("10.9.0.1", 24), true));
    repaired("set down", &|| {
        switch.other_client().request(SwInterfaceSetFlags { sw_if_index: index, flags: no_flags });
    });
    repaired("taken out of the bridge domain", &|| switch.other_client().take_out(index, id));
    repaired("a member, but not the BVI", &|| switch.other_client().put_into(index, id));
    repaired("another MAC address", &|| {
        let mac_address = [2, 0, 0, 0, 0, 9];
        switch.other_client().request(SwInterfaceSetMacAddress { sw_if_index: index, mac_address });
    });
    repaired("in another table", &|| {
        let mut others = switch.other_client();
        others.set_address(index, ("10.1.0.1", 24), false);
        others.request(SwInterfaceSetTable { sw_if_index: index, is_ipv6: false, vrf_id: 0 });
    });
    repaired("deleted", &|| switch.other_client().remove_interface(index));
    repaired("another one with its tag", &|| {
        let second = switch.other_client().add_loopback();
        switch.other_client().set_tag(second, TAG);
    });
    assert_eq!(switch.other_client().interfaces().len(), 3, "local0, the port and the gateway");
}

pub(crate) fn gateways_tables_and_addresses_of_others_are_not_changed(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let plain = switch.network("blue");
    let blue = with_gateway(&plain, &["10.1.0.1/24"], Some("a"));
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    let id_of_usnet = switch.other_client().tables()[0].table_id;
    converge(&mut engine, &switch.desired(std::slice::from_ref(&plain), &[]));

    // Another client has the id that usnet would choose, the address, and the place of the gateway.
    for is_ip6 in [false, true] {
        let (is_add, table_id, name) = (true, id_of_usnet, text("theirs"));
        switch.other_client().request(IpTableAddDel { is_add, table_id, is_ip6, name });
    }
    let theirs = switch.other_client().add_loopback();
    switch.other_client().request(SwInterfaceSetTable { sw_if_index: theirs, is_ipv6: false, vrf_id: id_of_usnet });
    switch.other_client().set_address(theirs, ("10.1.0.1", 24), true);
    switch.other_client().put_into_as_bvi(theirs, domain_id(bridge(&blue)));
    let desired = switch.desired(std::slice::from_ref(&blue), &[]);
    let observed = observe(&mut engine);
    assert_eq!(diff(&desired, &observed), []);
    let found = blockers(&desired, &observed).remove(&blue.name).expect("a blocker");
    assert_eq!(found, Blocker::GatewayExists { bridge: blue.bridge.name.clone(), interface: "loop0".to_owned() });

    // An agent that observed before the other client came is refused by the driver.
    let dump = switch.other_client().dump_all();
    let table = NetworkGateway::new(&blue).expect("a gateway").table;
    let create_table = RoutingOp::CreateTable { network: blue.name.clone(), table }.into();
    let results = apply(&mut engine, &[create_table, set_gateway(&blue)]);
    let refused = results[1].as_ref().expect_err("there is a BVI").to_string();
    assert!(refused.contains("loop0") && refused.contains("not owned by usnet"), "{refused}");
    converge(&mut engine, &desired);
    assert_eq!(switch.other_client().dump_all(), dump);

    // Without it the gateway is created, in a table with another id.
    switch.other_client().take_out(theirs, domain_id(bridge(&blue)));
    converge(&mut engine, &desired);
    let own: Vec<u32> = switch.other_client().tables().iter().map(|table| table.table_id).collect();
    assert_eq!(own.iter().filter(|id| **id == id_of_usnet).count(), 2);
    assert_eq!(own.len(), 4);
    assert_eq!(switch.other_client().addresses(theirs), ["10.1.0.1/24"]);
}

pub(crate) fn an_interrupted_creation_is_completed(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = with_gateway(&switch.network("blue"), &["10.1.0.1/24"], None);
    let mac_address = Gateway::mac(&blue.name).octets();
    let untagged =
        switch.other_client().request(CreateLoopbackInstance { mac_address, ..CreateLoopbackInstance::default() });
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    assert_eq!(switch.other_client().tagged(TAG).sw_if_index, untagged.sw_if_index);
    assert_eq!(switch.other_client().interfaces().len(), 2, "local0 and the gateway");
}

pub(crate) fn overlapping_subnets_of_one_domain_are_refused_with_the_reason(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = with_gateway(&switch.network("blue"), &["10.1.0.1/24"], Some("a"));
    let red = with_gateway(&switch.network("red"), &["10.1.0.9/24"], Some("a"));
    let desired = switch.desired(&[blue, red], &[]);
    let operations = diff(&desired, &observe(&mut engine));
    let results = apply(&mut engine, &operations);
    let failed: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).map(ToString::to_string).collect();
    assert_eq!(failed.len(), 1, "{results:?}");
    assert!(failed[0].starts_with("the gateway of network red could not be configured"), "{failed:?}");
    assert!(failed[0].contains("use another subnet or another table"), "{failed:?}");
}

pub(crate) fn a_table_that_others_use_is_reported(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = with_gateway(&switch.network("blue"), &["10.1.0.1/24"], Some("a"));
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    let vrf_id = switch.other_client().tables()[0].table_id;
    let theirs = switch.other_client().add_loopback();
    switch.other_client().request(SwInterfaceSetTable { sw_if_index: theirs, is_ipv6: false, vrf_id });
    let operations = diff(&Desired::default(), &observe(&mut engine));
    let results = apply(&mut engine, &operations);
    let (last, others) = results.split_last().expect("operations");
    assert!(others.iter().all(Result::is_ok), "{results:?}");
    let refused = last.as_ref().expect_err("it is in use").to_string();
    assert!(refused.contains("the routing table of domain a") && refused.contains("interface loop"), "{refused}");
    assert_eq!(tables(switch, false), ["usnrd:a"]);
    switch.other_client().request(SwInterfaceSetTable { sw_if_index: theirs, is_ipv6: false, vrf_id: 0 });
    converge(&mut engine, &Desired::default());
    assert_eq!(switch.other_client().tables(), []);
}

pub(crate) fn gateways_return_after_a_restart(switch: &mut VppSwitch) {
    let blue = with_gateway(&switch.network("blue"), &["10.1.0.1/24"], Some("a"));
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    let before = converge(&mut switch.engine(), &desired);
    switch.kill();
    switch.restart();
    assert_eq!(converge(&mut switch.engine(), &desired), before);
    assert_eq!(switch.other_client().tagged(TAG).l2_address, Gateway::mac(&blue.name).octets());
}
