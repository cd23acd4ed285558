use super::*;
use crate::model::port::DeviceName;
use crate::plan::{Cause, PlanContext, SpecOrigin};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::{EngineKind, Mtu, NetworkName};

const ENGINE: EngineKind = EngineKind::OpenVswitch;
const LOCAL: &str = "10.0.0.1";

fn name(name: &str) -> NetworkName {
    name.parse().unwrap()
}

fn owner(network: &str) -> LinkOwner {
    LinkOwner { engine: ENGINE, network: name(network) }
}

fn desired(vni: u32) -> DesiredVxlan {
    DesiredVxlan {
        vni,
        port: 4789,
        local: LOCAL.parse().unwrap(),
        peers: Arc::new(["10.0.0.2".parse().unwrap()].into()),
        group: None,
        mtu: Mtu::try_from(1450).unwrap(),
    }
}

fn all(networks: &[(&str, u32)]) -> BTreeMap<NetworkName, DesiredVxlan> {
    networks.iter().map(|(network, vni)| (name(network), desired(*vni))).collect()
}

/// The device of a network as the kernel shows it after its creation.
fn device(network: &str, vni: u32) -> ObservedVxlan {
    let (owner, desired) = (owner(network), desired(vni));
    ObservedVxlan {
        name: owner.device(),
        alias: Some(owner.to_string()),
        mac: owner.mac(desired.local).octets(),
        vni,
        port: desired.port,
        local: Some(desired.local),
        group: None,
        underlay: Some(2),
        is_external: false,
        accepts_zero_checksum: false,
        has_udp_checksum: false,
        mtu: desired.mtu.get().into(),
        is_up: true,
        answers_arp: false,
        peers: (*desired.peers).clone(),
    }
}

fn foreign(vni: u32) -> ObservedVxlan {
    ObservedVxlan { name: DeviceName::observed("vxlan0"), alias: None, mac: [2; 6], ..device("x", vni) }
}

fn end(owner: &LinkOwner, end: PairEnd) -> ObservedEnd {
    let (owner, name) = (owner.clone(), end.device(&owner.network));
    ObservedEnd { owner, end, name, mtu: 1450, is_up: true, splits_packets: end == PairEnd::Vxlan, is_strict: true }
}

/// The pairs of devices: of the first one the engine's end has index 20, and the other end 21.
fn pairs<'a>(devices: impl IntoIterator<Item = &'a ObservedVxlan>) -> BTreeMap<u32, ObservedEnd> {
    let owners = devices.into_iter().filter_map(ObservedVxlan::owner);
    let ends = owners.flat_map(|owner| [PairEnd::Engine, PairEnd::Vxlan].map(|which| end(&owner, which)));
    (20..).zip(ends).collect()
}

fn node(vxlans: impl IntoIterator<Item = ObservedVxlan>) -> ObservedLinks {
    let underlay = Underlay { index: 2, name: "eth0".to_owned(), mtu: 1500, prefix: 24 };
    let vxlans: BTreeMap<_, _> = (10..).zip(vxlans).collect();
    ObservedLinks {
        may_change: true,
        ends: pairs(vxlans.values()),
        vxlans,
        underlays: [(LOCAL.parse().unwrap(), underlay)].into(),
    }
}

fn texts(desired: &BTreeMap<NetworkName, DesiredVxlan>, observed: &ObservedLinks) -> Vec<String> {
    diff(ENGINE, desired, observed).iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_as_desired_needs_nothing_and_can_be_joined() {
    let (desired, observed) = (all(&[("blue", 7)]), node([device("blue", 7), foreign(8)]));
    assert_eq!(texts(&desired, &observed), Vec::<String>::new());
    assert_eq!(joinable(ENGINE, &desired, &observed), [(name("blue"), 20)].into());
    assert_eq!(blockers(ENGINE, &desired, &observed), BTreeMap::new());
}

#[test]
fn a_missing_device_is_created_and_an_unwanted_one_is_deleted_last() {
    let created = texts(&all(&[("blue", 7)]), &node([device("red", 8)]));
    let (blue, red) = (owner("blue").device(), owner("red").device());
    let expected = [
        format!("create VXLAN device {blue} of network blue with VNI 7, UDP port 4789 and 1 peers"),
        format!("delete device {red} of network red"),
        format!("delete device {} of network red", DeviceName::of_network(&name("red"))),
    ];
    assert_eq!(created, expected);
    assert!(blue.as_str().len() <= 15, "{blue}");
}

#[test]
fn a_device_of_others_and_of_the_other_engine_is_not_touched() {
    let vpp = LinkOwner { engine: EngineKind::Vpp, ..owner("red") };
    let of_vpp = ObservedVxlan { alias: Some(vpp.to_string()), ..device("red", 8) };
    let untagged = ObservedVxlan { alias: Some("uplink".to_owned()), ..device("green", 9) };
    let observed = node([foreign(6), of_vpp, untagged]);
    assert_eq!(texts(&BTreeMap::new(), &observed), Vec::<String>::new());
    assert_eq!(diff(EngineKind::Vpp, &BTreeMap::new(), &observed).len(), 2, "device and pair");
}

fn changed(change: impl FnOnce(&mut ObservedVxlan)) -> ObservedLinks {
    let mut found = device("blue", 7);
    let ends = pairs([&found]);
    change(&mut found);
    ObservedLinks { ends, ..node([found]) }
}

#[test]
fn what_can_change_in_place_is_changed_and_all_else_needs_a_new_device() {
    let blue = all(&[("blue", 7)]);
    let device = owner("blue").device();
    let in_place: [(&str, ObservedLinks); 6] = [
        ("set up", changed(|found| found.is_up = false)),
        ("set up", changed(|found| found.mtu = 1400)),
        ("set up", changed(|found| found.alias = None)),
        ("set up", changed(|found| found.answers_arp = true)),
        ("rename VXLAN device other", changed(|found| found.name = DeviceName::observed("other"))),
        ("add 1 and remove 1 peers", changed(|found| found.peers = ["10.0.0.9".parse().unwrap()].into())),
    ];
    for (text, observed) in in_place {
        let operations = texts(&blue, &observed);
        assert!(matches!(operations.as_slice(), [only] if only.starts_with(text)), "{text}: {operations:?}");
    }
    let replaced = [
        changed(|found| found.vni = 6),
        changed(|found| found.port = 4790),
        changed(|found| found.local = "10.0.0.3".parse().ok()),
        changed(|found| found.underlay = Some(3)),
        changed(|found| found.has_udp_checksum = true),
    ];
    for observed in replaced {
        assert_eq!(texts(&blue, &observed), [format!("delete device {device} of network blue")]);
        assert_eq!(joinable(ENGINE, &blue, &observed), BTreeMap::new());
    }
}

/// Each change by itself to the pair of a device that is right.
fn pair_changed(change: impl FnOnce(&mut BTreeMap<u32, ObservedEnd>)) -> ObservedLinks {
    let mut observed = node([device("blue", 7)]);
    change(&mut observed.ends);
    observed
}

#[test]
fn a_pair_that_lets_no_frames_through_is_mended_and_joined_only_when_both_ends_are_there() {
    let blue = all(&[("blue", 7)]);
    let renamed = |ends: &mut BTreeMap<u32, ObservedEnd>, index| {
        ends.get_mut(&index).unwrap().name = DeviceName::observed("other");
    };
    let cases: [(&str, ObservedLinks, bool, usize); 9] = [
        ("none, as an earlier version leaves it", pair_changed(BTreeMap::clear), false, 1),
        ("no engine's end", pair_changed(|ends| drop(ends.remove(&20))), false, 1),
        ("no other end", pair_changed(|ends| drop(ends.remove(&21))), false, 1),
        ("engine's end down", pair_changed(|ends| ends.get_mut(&20).unwrap().is_up = false), false, 1),
        ("other end down", pair_changed(|ends| ends.get_mut(&21).unwrap().is_up = false), false, 1),
        ("another MTU", pair_changed(|ends| ends.get_mut(&20).unwrap().mtu = 1400), true, 1),
        ("merged packets", pair_changed(|ends| ends.get_mut(&21).unwrap().splits_packets = false), true, 1),
        ("engine's end renamed", pair_changed(|ends| renamed(ends, 20)), false, 2),
        ("other end renamed", pair_changed(|ends| renamed(ends, 21)), false, 1),
    ];
    for (case, observed, is_joinable, operations) in cases {
        let planned = diff(ENGINE, &blue, &observed);
        let connects = matches!(planned.first(), Some(LinkOp::Connect { index: 10, .. }));
        assert!(connects && planned.len() == operations, "{case}: {planned:?}");
        assert_eq!(!joinable(ENGINE, &blue, &observed).is_empty(), is_joinable, "{case}");
    }
}

#[test]
fn what_is_left_of_a_pair_is_deleted() {
    let mut observed = node([]);
    observed.ends = pairs([&device("blue", 7)]);
    let (engine, vxlan) = (DeviceName::of_network(&name("blue")), DeviceName::of_vxlan_end(&name("blue")));
    let deleted = |device: &DeviceName| [format!("delete device {device} of network blue")];
    assert_eq!(texts(&BTreeMap::new(), &observed), deleted(&engine), "the other end goes with it");
    observed.ends.remove(&20);
    assert_eq!(texts(&BTreeMap::new(), &observed), deleted(&vxlan));
    assert!(diff(EngineKind::Vpp, &BTreeMap::new(), &observed).is_empty(), "it is of the other engine");
}

#[test]
fn each_blocker_names_what_is_in_the_way_and_nothing_is_created() {
    let blue = all(&[("blue", 7)]);
    let external = ObservedVxlan { is_external: true, vni: 0, ..foreign(0) };
    let vpp = LinkOwner { engine: EngineKind::Vpp, ..owner("red") };
    let of_vpp = ObservedVxlan { alias: Some(vpp.to_string()), ..device("red", 7) };
    let mut small = node([]);
    small.underlays.values_mut().for_each(|underlay| underlay.mtu = 1499);
    let cases = [
        (ObservedLinks { may_change: false, ..node([]) }, LinkBlocker::MissingPrivilege),
        (
            ObservedLinks { underlays: BTreeMap::new(), ..node([]) },
            LinkBlocker::AddressMissing { address: LOCAL.parse().unwrap() },
        ),
        (
            node([foreign(7)]),
            LinkBlocker::VniTaken { device: DeviceName::observed("vxlan0"), owner: None, vni: 7, port: 4789 },
        ),
        (node([of_vpp]), LinkBlocker::VniTaken { device: vpp.device(), owner: Some(vpp), vni: 7, port: 4789 }),
        (node([external]), LinkBlocker::PortTaken { device: Some(DeviceName::observed("vxlan0")), port: 4789 }),
        (
            small,
            LinkBlocker::MtuTooLarge {
                underlay: "eth0".to_owned(),
                underlay_mtu: 1499,
                mtu: Mtu::try_from(1450).unwrap(),
                overhead: 50,
            },
        ),
    ];
    for (observed, blocker) in cases {
        assert_eq!(blockers(ENGINE, &blue, &observed), [(name("blue"), blocker)].into());
        assert_eq!(texts(&blue, &observed), Vec::<String>::new());
    }
}

#[test]
fn over_ipv6_frames_grow_more_and_devices_with_checksums_have_the_port_alone() {
    let local: IpAddr = "fd00::1".parse().unwrap();
    let of_v6 = DesiredVxlan { local, ..desired(7) };
    let blue: BTreeMap<_, _> = [(name("blue"), of_v6)].into();
    let on_node = |mtu: u32, other: Option<ObservedVxlan>| ObservedLinks {
        underlays: [(local, Underlay { index: 2, name: "eth0".to_owned(), mtu, prefix: 24 })].into(),
        ..node(other)
    };
    let blocker = |observed: &ObservedLinks| blockers(ENGINE, &blue, observed).remove(&name("blue"));
    assert!(matches!(blocker(&on_node(1519, None)), Some(LinkBlocker::MtuTooLarge { overhead: 70, .. })));
    assert_eq!(blocker(&on_node(1520, None)), None);
    let of_others = ObservedVxlan { local: Some(local), ..foreign(8) };
    let taken = LinkBlocker::PortTaken { device: Some(DeviceName::observed("vxlan0")), port: 4789 };
    assert_eq!(blocker(&on_node(1520, Some(of_others.clone()))), Some(taken));
    let like_ours = ObservedVxlan { accepts_zero_checksum: true, ..of_others };
    assert_eq!(blocker(&on_node(1520, Some(like_ours))), None);
    assert_eq!(blocker(&on_node(1520, Some(foreign(8)))), None, "one of IPv4");
}

#[test]
fn another_multicast_group_needs_another_device() {
    let group: IpAddr = [239, 1, 1, 1].into();
    let blue = [(name("blue"), DesiredVxlan { group: Some(group), peers: Arc::new([group].into()), ..desired(7) })];
    let blue: BTreeMap<_, _> = blue.into();
    let created = texts(&blue, &node([]));
    assert!(created[0].ends_with("with VNI 7, UDP port 4789 and multicast group 239.1.1.1"), "{created:?}");
    let in_group = ObservedVxlan { group: Some(group), peers: [group].into(), ..device("blue", 7) };
    assert_eq!(texts(&blue, &node([in_group])), Vec::<String>::new());
    for differs in [device("blue", 7), ObservedVxlan { group: Some(group), ..device("blue", 7) }] {
        assert!(texts(&blue, &node([differs]))[0].starts_with("delete"));
    }
}

#[test]
fn a_device_stays_joined_while_it_is_blocked() {
    let blue = all(&[("blue", 7)]);
    let mut observed = node([device("blue", 7)]);
    observed.underlays.values_mut().for_each(|underlay| underlay.mtu = 1400);
    assert_eq!(texts(&blue, &observed), Vec::<String>::new());
    assert_eq!(joinable(ENGINE, &blue, &observed).len(), 1);
    observed.underlays.clear();
    assert_eq!((texts(&blue, &observed).len(), joinable(ENGINE, &blue, &observed).len()), (0, 1));
}

#[test]
fn the_cause_is_drift_only_for_what_was_programmed() {
    let blue = all(&[("blue", 7)]);
    let cause = |context: PlanContext| plan(ENGINE, &blue, &node([]), &context)[0].cause;
    let known = PlanContext { spec: SpecOrigin::Known, ..PlanContext::default() };
    assert_eq!(cause(PlanContext::default()), Cause::NewSpec);
    assert_eq!(cause(PlanContext { spec: SpecOrigin::Inherited, ..PlanContext::default() }), Cause::AgentStarted);
    assert_eq!(cause(PlanContext { programmed: [name("blue")].into(), ..known.clone() }), Cause::Drift);
    assert_eq!(cause(known), Cause::Retry);
}

#[test]
fn only_aliases_of_usnet_name_an_owner() {
    for engine in EngineKind::ALL {
        let owner = LinkOwner { engine, network: name("blue") };
        for end in PairEnd::ALL {
            let alias = end.alias(&owner);
            assert_eq!(alias.parse(), Ok(pair::EndOwner { owner: owner.clone(), end }));
            assert_eq!(alias.parse::<LinkOwner>(), Err(owner::ForeignAlias), "earlier versions leave it");
        }
        assert_eq!(owner.to_string().parse(), Ok(owner));
    }
    for alias in ["", "usnet", "usnet blue", "usnet OVS", "usnet OVS Not/A/Name", "usnet XYZ blue", "usnet:c1.net1"] {
        assert_eq!(alias.parse::<LinkOwner>(), Err(owner::ForeignAlias), "{alias}");
    }
}
