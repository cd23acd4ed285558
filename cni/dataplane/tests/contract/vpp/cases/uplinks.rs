//! Uplinks: the interface of a NIC, and a sub-interface of it for each network.

use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, is_of_uplink, observe, tag};
use crate::vpp::other_client::text;
use crate::vpp::switch::{VppSwitch, domain_id};
use std::process::Command;
use usnet_crds::{EngineKind, NetworkUplink, NodeNetwork};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::{Op, UplinkBlocker, diff, has_port, uplink_blockers};
use usnet_dataplane::port::{DesiredPort, DeviceName, PortPolicy};
use usnet_dataplane::uplink::{DesiredNic, DesiredUplink};
use usnet_vpp::messages::{
    AfPacketCreateV3, AfPacketDelete, AfPacketMode, CreateSubif, DeleteSubif, IfStatusFlags, L2InterfaceEfpFilter,
    L2InterfaceVlanTagRewrite, SubIfFlags, SwInterfaceDetails, SwInterfaceSetFlags,
};

/// The NIC, and the other end of its cable.
pub(super) const NIC: &str = "nic0";
pub(super) const WIRE: &str = "wire";
/// The MAC address of the NIC, and that of the interface on it.
pub(super) const MAC: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];
pub(super) const MAC_IN_VPP: [u8; 6] = [0x02, 0x75, 0, 1, 2, 3];
/// The networks of most cases.
const NETWORKS: [(&str, Option<i64>); 3] = [("blue", Some(100)), ("green", None), ("red", Some(200))];

pub(super) fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Plugs a NIC in, or another one of its name; returns its index. The kernel sends nothing of its
/// own on it.
pub(super) fn plug_nic() -> u32 {
    ip(&format!("link add {NIC} mtu 1600 type veth peer name {WIRE} mtu 1600"));
    for end in [NIC, WIRE] {
        ip(&format!("link set {end} addrgenmode none"));
        ip(&format!("link set {end} up"));
    }
    let output = ip(&format!("-o link show dev {NIC}"));
    output.split(':').next().and_then(|index| index.parse().ok()).expect("an index")
}

pub(super) fn on_uplink(switch: &VppSwitch, name: &str, vlan: Option<i64>) -> NodeNetwork {
    let uplink = NetworkUplink { name: "fab".parse().expect("a name"), vlan: vlan.map(tag) };
    NodeNetwork { uplink: Some(uplink), ..switch.network(name) }
}

/// These networks on the uplink whose NIC has this index.
pub(super) fn desired(switch: &VppSwitch, networks: &[(&str, Option<i64>)], index: u32) -> Desired {
    let networks: Vec<_> = networks.iter().map(|(name, vlan)| on_uplink(switch, name, *vlan)).collect();
    let nic = Some(DesiredNic::kernel(&DeviceName::observed(NIC), index, MAC));
    let vlans = networks.iter().filter_map(|network| Some(network.uplink.as_ref()?.vlan));
    let uplink = DesiredUplink::of(EngineKind::Vpp, &"fab".parse().expect("a name"), nic, vlans);
    let patches: Vec<_> =
        networks.iter().filter_map(|network| DesiredPort::of_patch(network, PortPolicy::Ensure)).collect();
    Desired::new(networks, []).with_uplinks(uplink).with_ports(patches)
}

pub(super) fn named(switch: &VppSwitch, name: &str) -> SwInterfaceDetails {
    let interfaces = switch.other_client().interfaces();
    interfaces.into_iter().find(|found| found.interface_name.as_str() == name).expect("an interface")
}

pub(super) fn index(switch: &VppSwitch, name: &str) -> u32 {
    named(switch, name).sw_if_index
}

/// The names of all interfaces but that which is always there.
pub(super) fn interfaces(switch: &VppSwitch) -> Vec<String> {
    let all = switch.other_client().interfaces();
    let mut names: Vec<_> = all.into_iter().map(|found| found.interface_name.to_string()).collect();
    names.retain(|name| name != "local0");
    names.sort();
    names
}

/// The members of the bridge domain of a network.
fn members(switch: &VppSwitch, network: &str) -> Vec<u32> {
    let domain = switch.other_client().domains().remove(&domain_id(bridge(&switch.network(network))));
    domain.map_or_else(Vec::new, |domain| domain.sw_if_details.iter().map(|member| member.sw_if_index).collect())
}

pub(crate) fn networks_share_a_nic_by_vlans_and_leave_nothing(switch: &mut VppSwitch) {
    let nic = plug_nic();
    let mut engine = switch.engine();
    let three = desired(switch, &NETWORKS, nic);
    let operations = converge(&mut engine, &three);
    let texts: Vec<_> = operations.iter().skip(3).map(ToString::to_string).collect();
    assert_eq!(texts[..2], ["join NIC nic0 of uplink fab", "connect network blue to uplink fab in VLAN 100"]);
    assert_eq!(interfaces(switch), ["host-nic0", "host-nic0.100", "host-nic0.200", "host-nic0.4095"]);
    assert_eq!(members(switch, "blue"), [index(switch, "host-nic0.100")]);
    assert_eq!(members(switch, "green"), [index(switch, "host-nic0")]);
    assert_eq!(members(switch, "red"), [index(switch, "host-nic0.200")]);
    let tags = ["host-nic0", "host-nic0.100", "host-nic0.4095"].map(|name| named(switch, name).tag.to_string());
    assert_eq!(tags, [format!("usnet^fab^{nic:x}"), "usnet:blue".to_owned(), "usnet:green".to_owned()]);
    assert_eq!(named(switch, "host-nic0").l2_address, MAC_IN_VPP);
    let observed = observe(&mut engine);
    assert!(three.ports.values().all(|port| has_port(port, &observed)));

    let dump = switch.dump();
    assert!(apply(&mut engine, &operations).iter().all(Result::is_ok));
    assert_eq!(switch.dump(), dump, "a second time nothing is changed");

    let blue = named(switch, "host-nic0.100");
    converge(&mut engine, &desired(switch, &[("blue", Some(100))], nic));
    assert_eq!(interfaces(switch), ["host-nic0", "host-nic0.100"]);
    assert_eq!(named(switch, "host-nic0.100"), blue, "it was touched");
    converge(&mut engine, &desired(switch, &[("blue", Some(300))], nic));
    assert_eq!(interfaces(switch), ["host-nic0", "host-nic0.300"]);
    converge(&mut engine, &desired(switch, &[("blue", None)], nic));
    assert_eq!(interfaces(switch), ["host-nic0", "host-nic0.4095"]);
    assert_eq!(converge(&mut engine, &Desired::default()).len(), 3);
    assert_eq!((interfaces(switch), switch.other_client().domains().len()), (Vec::new(), 0));
}

pub(crate) fn a_nic_that_was_created_again_is_joined_again(switch: &mut VppSwitch) {
    let first = plug_nic();
    let mut engine = switch.engine();
    converge(&mut engine, &desired(switch, &NETWORKS, first));
    ip(&format!("link del {WIRE}"));
    let second = plug_nic();
    assert_ne!(first, second);
    let spec = desired(switch, &NETWORKS, second);
    assert_eq!(converge(&mut engine, &spec).len(), 8, "the NIC and three networks");
    assert_eq!(named(switch, "host-nic0").tag.as_str(), format!("usnet^fab^{second:x}"));
    assert!(ip(&format!("link show dev {NIC}")).contains(",UP"));
}

/// A change by another client of VPP, and what it is.
type Change<'a> = (&'static str, Box<dyn Fn() + 'a>);

pub(super) fn set_flags(switch: &VppSwitch, name: &str, flags: IfStatusFlags) {
    let sw_if_index = index(switch, name);
    switch.other_client().request(SwInterfaceSetFlags { sw_if_index, flags });
}

fn set_filter(switch: &VppSwitch, name: &str, enable_disable: bool) {
    let sw_if_index = index(switch, name);
    switch.other_client().request(L2InterfaceEfpFilter { sw_if_index, enable_disable });
}

fn delete_sub(switch: &VppSwitch, name: &str) {
    let sw_if_index = index(switch, name);
    switch.other_client().request(DeleteSubif { sw_if_index });
}

/// Into the bridge domain of a network, or out of it.
fn set_domain(switch: &VppSwitch, name: &str, network: &str, enable: bool) {
    let (sw_if_index, bd_id) = (index(switch, name), domain_id(bridge(&switch.network(network))));
    let mut other_client = switch.other_client();
    if enable { other_client.put_into(sw_if_index, bd_id) } else { other_client.take_out(sw_if_index, bd_id) }
}

/// What another client of VPP can do to an uplink.
fn changes(switch: &VppSwitch) -> Vec<Change<'_>> {
    let (up, down) = (IfStatusFlags::ADMIN_UP, IfStatusFlags::default());
    let keep_tags = move || {
        let sw_if_index = index(switch, "host-nic0.100");
        switch.other_client().request(L2InterfaceVlanTagRewrite { sw_if_index, ..Default::default() });
    };
    let delete_nic = move || {
        switch.other_client().request(AfPacketDelete { host_if_name: text(NIC) });
    };
    vec![
        ("a sub-interface is deleted", Box::new(move || delete_sub(switch, "host-nic0.100"))),
        ("that for other VLANs is deleted", Box::new(move || delete_sub(switch, "host-nic0.4095"))),
        ("a sub-interface is in no domain", Box::new(move || set_domain(switch, "host-nic0.200", "red", false))),
        ("the NIC is in no domain", Box::new(move || set_domain(switch, "host-nic0", "green", false))),
        ("a sub-interface is in another domain", Box::new(move || set_domain(switch, "host-nic0.100", "red", true))),
        ("the NIC is in another domain", Box::new(move || set_domain(switch, "host-nic0", "red", true))),
        ("a sub-interface has a filter", Box::new(move || set_filter(switch, "host-nic0.100", true))),
        ("the filter of the NIC is off", Box::new(move || set_filter(switch, "host-nic0", false))),
        ("tags are kept", Box::new(keep_tags)),
        ("a sub-interface is down", Box::new(move || set_flags(switch, "host-nic0.100", down))),
        ("the NIC is down", Box::new(move || set_flags(switch, "host-nic0", down))),
        ("that for other VLANs is up", Box::new(move || set_flags(switch, "host-nic0.4095", up))),
        ("the NIC is deleted", Box::new(delete_nic)),
    ]
}

pub(crate) fn what_others_change_is_repaired(switch: &mut VppSwitch) {
    let spec = desired(switch, &NETWORKS, plug_nic());
    let mut engine = switch.engine();
    converge(&mut engine, &spec);
    let before = interfaces(switch);
    for (what, change) in changes(switch) {
        change();
        let observed = observe(&mut engine);
        assert!(!diff(&spec, &observed).is_empty(), "{what}: the plan is empty");
        converge(&mut engine, &spec);
        assert_eq!(interfaces(switch), before, "{what}");
        for (name, network) in [("host-nic0.100", "blue"), ("host-nic0", "green"), ("host-nic0.200", "red")] {
            let found = named(switch, name);
            assert!(found.flags.contains(IfStatusFlags::ADMIN_UP), "{what}: {name} is down");
            assert_eq!(members(switch, network), [found.sw_if_index], "{what}");
        }
        assert!(ip(&format!("link show dev {NIC}")).contains(",UP"), "{what}");
    }
}

fn create_nic(switch: &VppSwitch) -> u32 {
    let (mode, host_if_name, hw_addr) = (AfPacketMode::Ethernet, text(NIC), MAC_IN_VPP);
    let create = AfPacketCreateV3 { mode, host_if_name, hw_addr, ..AfPacketCreateV3::default() };
    switch.other_client().request(create).sw_if_index
}

fn create_sub(switch: &VppSwitch, parent: u32, vlan: u16) -> u32 {
    let (sub_id, sub_if_flags) = (vlan.into(), SubIfFlags::ONE_TAG | SubIfFlags::EXACT_MATCH);
    let create = CreateSubif { sw_if_index: parent, sub_id, sub_if_flags, outer_vlan_id: vlan, inner_vlan_id: 0 };
    switch.other_client().request(create).sw_if_index
}

pub(crate) fn an_interrupted_creation_of_an_uplink_is_completed(switch: &mut VppSwitch) {
    let nic = plug_nic();
    let spec = desired(switch, &NETWORKS, nic);
    let mut engine = switch.engine();
    let on_nic = create_nic(switch);
    converge(&mut engine, &spec);
    assert_eq!(index(switch, "host-nic0"), on_nic);
    converge(&mut engine, &desired(switch, &NETWORKS[1..], nic));
    let sub = create_sub(switch, on_nic, 100);
    converge(&mut engine, &spec);
    assert_eq!(index(switch, "host-nic0.100"), sub);
    // One that is left over goes with the NIC.
    create_sub(switch, on_nic, 300);
    converge(&mut engine, &Desired::default());
    assert_eq!(interfaces(switch), Vec::<String>::new());
}

/// Applies what a plan for an empty VPP would be for uplinks.
fn force(switch: &VppSwitch, spec: &Desired) -> Vec<Result<(), OpError>> {
    let operations = diff(spec, &Observed::default());
    let uplinks: Vec<_> = operations.into_iter().filter(is_of_uplink).collect();
    apply(&mut switch.engine(), &uplinks)
}

pub(crate) fn interfaces_of_others_on_nics_are_not_changed(switch: &mut VppSwitch) {
    let nic = plug_nic();
    let mut engine = switch.engine();
    let spec = desired(switch, &[("blue", Some(100))], nic);
    converge(&mut engine, &Desired::new([switch.network("blue")], []));
    switch.other_client().add_on_device(NIC);
    let dump = switch.dump();
    let results = force(switch, &spec);
    assert!(matches!(&results[0], Err(OpError::Foreign { what }) if what == "interface host-nic0"), "{results:?}");
    assert!(matches!(&results[1], Err(OpError::Refused { .. })), "{results:?}");
    let observed = observe(&mut engine);
    assert!(diff(&spec, &observed).is_empty());
    let blockers = uplink_blockers(&spec, &observed);
    let taken = blockers.values().next().expect("a blocker");
    assert!(matches!(taken, UplinkBlocker::NicTaken { holder, .. } if holder.contains("host-nic0")), "{taken:?}");
    assert_eq!(switch.dump(), dump);
    switch.other_client().request(AfPacketDelete { host_if_name: text(NIC) });

    // Sub-interfaces of others on the NIC of usnet: in use in the VLAN of a network, and in
    // another.
    converge(&mut engine, &desired(switch, &[("red", Some(200))], nic));
    let foreign = create_sub(switch, index(switch, "host-nic0"), 100);
    switch.other_client().add_domain(77, "foreign");
    switch.other_client().put_into(foreign, 77);
    let theirs = || (named(switch, "host-nic0.100"), switch.other_client().domains()[&77].clone());
    let before = theirs();
    let both = desired(switch, &[("blue", Some(100)), ("red", Some(200))], nic);
    let operations = diff(&both, &observe(&mut engine));
    let results = apply(&mut engine, &operations);
    let is_refused = |result: &Result<(), OpError>| matches!(result, Err(OpError::Foreign { what }) if what == "interface host-nic0.100");
    assert!(results.iter().any(is_refused), "{results:?}");
    let operations = diff(&Desired::default(), &observe(&mut engine));
    let results = apply(&mut engine, &operations);
    let blocked = results.into_iter().find_map(Result::err).expect("the NIC stays").to_string();
    assert!(["host-nic0.100", "remove it"].iter().all(|part| blocked.contains(part)), "{blocked}");
    assert_eq!(theirs(), before);
    switch.other_client().request(DeleteSubif { sw_if_index: foreign });
    converge(&mut engine, &Desired::default());
    assert_eq!(interfaces(switch), Vec::<String>::new());
}

pub(crate) fn uplinks_return_after_a_restart(switch: &mut VppSwitch) {
    let spec = desired(switch, &NETWORKS, plug_nic());
    converge(&mut switch.engine(), &spec);
    let before = interfaces(switch);
    switch.kill();
    switch.restart();
    let operations = converge(&mut switch.engine(), &spec);
    let place = |is_it: fn(&Op) -> bool| operations.iter().position(is_it).expect("an operation");
    let last_bridge = operations.iter().rposition(|operation| matches!(operation, Op::CreateBridge { .. }));
    assert!(last_bridge < Some(place(|operation| operation.kind() == "JoinNic")));
    assert_eq!(interfaces(switch), before);
}

/// Without the plugin nothing of the engine is blocked but uplinks.
pub(crate) fn a_missing_plugin_of_uplinks_is_named(switch: &mut VppSwitch) {
    let spec = desired(switch, &NETWORKS, 7);
    let results = apply(&mut switch.engine(), &diff(&spec, &Observed::default()));
    let errors: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).map(ToString::to_string).collect();
    assert_eq!((results.len(), errors.len()), (7, 4), "three bridges; a NIC and three networks");
    assert!(errors[0].contains("af_packet_plugin.so"), "{errors:?}");
}
