//! Memifs in IP mode: what VPP has of them, repaired, moved and removed with their gateway.

use super::gateways::with_gateway;
use crate::switch::Switch;
use crate::values::{Values, apply, attachment, bridge, converge, create_port, observe, port_name};
use crate::vpp::switch::{VppSwitch, domain_id};
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_crds::{MemifMode, NodeNetwork};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::plan::{Op, RoutingOp, diff};
use usnet_dataplane::port::{AttachedPort, PortBackend};
use usnet_planner::testing::desired_port;
use usnet_vpp::messages::{
    FibPath, FibPaths, IpRoute, IpRouteAddDel, IpRouteDump, IpTable, IpUnnumberedDump, MemifMode as Mode, NO_INTERFACE,
    Prefix, SwInterfaceGetTable, SwInterfaceSetTable, SwInterfaceSetUnnumbered,
};

const GATEWAY: &str = "usngw:blue";
const IPS: [&str; 2] = ["10.1.0.5", "fd00:1::5"];

pub(crate) fn routed_port(switch: &VppSwitch, container: &str, network: &NodeNetwork, ips: &[&str]) -> AttachedPort {
    let mut port = switch.port(container, network);
    let PortBackend::Memif { socket, .. } = port.backend else { panic!("these are cases of memif") };
    port.backend = PortBackend::Memif { socket, mode: MemifMode::Ip };
    port.settings.routed = addresses(ips);
    port
}

fn addresses(ips: &[&str]) -> BTreeSet<IpAddr> {
    ips.iter().map(|ip| ip.parse().expect("an address")).collect()
}

/// These networks, and pods with these containers and addresses on the first one.
fn desired(switch: &VppSwitch, networks: &[NodeNetwork], pods: &[(&str, &[&str])]) -> Desired {
    let attached = |(container, ips): &(&str, &[&str])| {
        let port = routed_port(switch, container, &networks[0], ips);
        desired_port(&networks[0].name, &attachment(container), &port)
    };
    Desired::new(networks.to_vec(), []).with_ports(pods.iter().map(attached))
}

fn blue(switch: &VppSwitch, domain: Option<&str>) -> NodeNetwork {
    with_gateway(&switch.network("blue"), &["10.1.0.1/24", "fd00:1::1/64"], domain)
}

/// The addresses that VPP routes to an interface, with the names of their tables.
fn routes(switch: &VppSwitch, index: u32) -> Vec<String> {
    let mut others = switch.other_client();
    let mut found = Vec::new();
    for table in others.tables() {
        let asked = IpTable { table_id: table.table_id, is_ip6: table.is_ip6, ..IpTable::default() };
        for details in others.dump(IpRouteDump { table: asked }) {
            let IpRoute { prefix, paths, .. } = details.route;
            if paths.0.iter().any(|path| path.sw_if_index == index) {
                found.push(format!("{}/{} {}", prefix.ip().expect("an address"), prefix.length, table.name.as_str()));
            }
        }
    }
    found.sort();
    found
}

/// The interface whose addresses another one uses.
fn address_of(switch: &VppSwitch, index: u32) -> Option<u32> {
    let all = switch.other_client().dump(IpUnnumberedDump { sw_if_index: NO_INTERFACE });
    all.into_iter().find(|details| details.sw_if_index == index).map(|details| details.ip_sw_if_index)
}

/// That a port is as its gateway's routed port should be.
fn check(switch: &VppSwitch, container: &str, ips: &[&str], table: &str) {
    let port = switch.other_client().interface(&port_name(container));
    let gateway = switch.other_client().tagged(GATEWAY);
    assert_eq!(address_of(switch, port.sw_if_index), Some(gateway.sw_if_index));
    let mut expected: Vec<String> = Vec::new();
    for ip in ips {
        let length = if ip.contains(':') { 128 } else { 32 };
        expected.push(format!("{ip}/{length} {table}"));
    }
    expected.sort();
    assert_eq!(routes(switch, port.sw_if_index), expected);
    for is_ipv6 in [false, true] {
        let table_of = |sw_if_index| switch.other_client().request(SwInterfaceGetTable { sw_if_index, is_ipv6 }).vrf_id;
        assert_eq!(table_of(port.sw_if_index), table_of(gateway.sw_if_index));
    }
    let memif = switch.other_client().memifs().into_iter().find(|memif| memif.sw_if_index == port.sw_if_index);
    assert_eq!(memif.expect("a memif").mode, Mode::Ip);
    let members = &switch.other_client().domains()[&port_domain(switch)].sw_if_details.clone();
    assert!(members.iter().all(|member| member.sw_if_index != port.sw_if_index), "it is on no bridge");
}

fn port_domain(switch: &VppSwitch) -> u32 {
    domain_id(bridge(&switch.network("blue")))
}

pub(crate) fn a_routed_port_has_the_gateways_address_and_its_own_routes(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = blue(switch, Some("a"));
    let one = desired(switch, std::slice::from_ref(&blue), &[("c1", &IPS)]);
    let operations = converge(&mut engine, &one);
    check(switch, "c1", &IPS, "usnrd:a");
    let dump = switch.dump();
    assert_eq!(apply(&mut engine, &operations), vec![Ok(()); operations.len()]);
    assert_eq!(switch.dump(), dump, "a second time nothing is changed");

    // A second pod; then the first one leaves, with its routes.
    let two = desired(switch, std::slice::from_ref(&blue), &[("c1", &IPS), ("c2", &["10.1.0.6"])]);
    converge(&mut engine, &two);
    check(switch, "c2", &["10.1.0.6"], "usnrd:a");
    let first = switch.other_client().interface(&port_name("c1")).sw_if_index;
    let only = desired(switch, std::slice::from_ref(&blue), &[("c2", &["10.1.0.6"])]);
    let operations = converge(&mut engine, &only);
    assert!(matches!(operations.as_slice(), [Op::RemovePort { .. }]), "{operations:?}");
    assert_eq!(routes(switch, first), [""; 0]);
    check(switch, "c2", &["10.1.0.6"], "usnrd:a");

    assert_eq!(converge(&mut engine, &Desired::default()).len(), 4, "port, gateway, bridge and table");
    assert_eq!(switch.other_client().tables(), []);
    assert_eq!(switch.other_client().interfaces().len(), 1, "local0");
}

pub(crate) fn what_others_change_of_a_routed_port_is_repaired(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = blue(switch, None);
    let desired = desired(switch, std::slice::from_ref(&blue), &[("c1", &IPS)]);
    converge(&mut engine, &desired);
    let index = || switch.other_client().interface(&port_name("c1")).sw_if_index;
    let set_route = |is_add: bool, ip: &str| {
        let sw_if_index = index();
        let table_id = switch.other_client().request(SwInterfaceGetTable { sw_if_index, is_ipv6: false }).vrf_id;
        let paths = FibPaths(vec![FibPath { sw_if_index, weight: 1, ..FibPath::default() }]);
        let prefix = Prefix::new(ip.parse().expect("an address"), 32);
        let route = IpRoute { table_id, prefix, paths, ..IpRoute::default() };
        switch.other_client().request(IpRouteAddDel { is_add, is_multipath: false, route });
    };
    let use_no_address = || {
        let (sw_if_index, unnumbered_sw_if_index) = (index(), index());
        switch.other_client().request(SwInterfaceSetUnnumbered { sw_if_index, unnumbered_sw_if_index, is_add: false });
    };
    let mut repaired = |what: &str, change: &dyn Fn()| {
        change();
        assert!(!diff(&desired, &observe(&mut engine)).is_empty(), "{what}");
        converge(&mut engine, &desired);
        check(switch, "c1", &IPS, GATEWAY);
    };
    repaired("a route is gone", &|| set_route(false, "10.1.0.5"));
    repaired("a route more", &|| set_route(true, "10.1.0.99"));
    repaired("without an address", &use_no_address);
    repaired("in another table", &|| {
        use_no_address();
        let sw_if_index = index();
        switch.other_client().request(SwInterfaceSetTable { sw_if_index, is_ipv6: false, vrf_id: 0 });
    });
    repaired("deleted", &|| {
        let index = index();
        switch.other_client().remove_interface(index);
    });
    repaired("without its gateway", &|| {
        use_no_address();
        let gateway = switch.other_client().tagged(GATEWAY).sw_if_index;
        switch.other_client().remove_interface(gateway);
    });
    assert_eq!(switch.other_client().interfaces().len(), 3, "local0, the port and the gateway");
}

pub(crate) fn a_routed_port_stays_while_its_gateway_changes(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let before = blue(switch, Some("a"));
    let one = |network: &NodeNetwork| desired(switch, std::slice::from_ref(network), &[("c1", &IPS)]);
    converge(&mut engine, &one(&before));
    let port = switch.port_identity(&port_name("c1"));
    let moved = blue(switch, None);
    let operations = converge(&mut engine, &one(&moved));
    assert!(operations.iter().all(|operation| matches!(operation, Op::Routing(_))), "{operations:?}");
    check(switch, "c1", &IPS, GATEWAY);
    let other = with_gateway(&switch.network("blue"), &["10.1.0.254/24", "fd00:1::1/64"], None);
    let operations = converge(&mut engine, &one(&other));
    assert!(matches!(operations.as_slice(), [Op::Routing(RoutingOp::SetGateway { .. })]), "{operations:?}");
    check(switch, "c1", &IPS, GATEWAY);
    assert_eq!(switch.port_identity(&port_name("c1")), port, "the pod keeps its port");
}

pub(crate) fn a_routed_port_without_a_gateway_is_refused(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let plain = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&plain), &[]));
    let port = routed_port(switch, "c1", &plain, &IPS);
    let create = create_port(&plain.name, &attachment("c1"), &port);
    let results = apply(&mut engine, &[create]);
    let refused = results[0].as_ref().expect_err("there is no gateway").to_string();
    assert!(refused.contains("has no gateway") && refused.contains("spec.gateway"), "{refused}");
    let left = switch.other_client().ports();
    assert_eq!((left, switch.other_client().sockets().len()), (0, 1), "nothing is left");
}

pub(crate) fn routed_ports_return_after_a_restart(switch: &mut VppSwitch) {
    let blue = blue(switch, Some("a"));
    let desired = desired(switch, std::slice::from_ref(&blue), &[("c1", &IPS)]);
    let before = converge(&mut switch.engine(), &desired);
    switch.kill();
    switch.restart();
    assert_eq!(converge(&mut switch.engine(), &desired), before);
    check(switch, "c1", &IPS, "usnrd:a");
}
