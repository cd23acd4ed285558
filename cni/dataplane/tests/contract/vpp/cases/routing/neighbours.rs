//! The neighbours of gateways: their limit is kept, and a gateway with too many of them is set down
//! without an effect on others. Another client adds them, as VPP does for each ARP request.

use super::gateways::with_gateway;
use crate::switch::Switch;
use crate::values::{Values, bridge, converge, observe};
use crate::vpp::switch::{VppSwitch, domain_id};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use usnet_crds::NodeNetwork;
use usnet_dataplane::routing::{NEIGHBOUR_LIMIT, NEIGHBOUR_RESERVE, NEIGHBOUR_SHARE};
use usnet_vpp::messages::{
    AddressFamily, IpNeighbor, IpNeighborAddDel, IpNeighborConfig, IpNeighborConfigGet, IpNeighborDump, NO_INTERFACE,
};

const FAMILIES: [AddressFamily; 2] = [AddressFamily::Ip4, AddressFamily::Ip6];

/// Limit, age and whether the oldest are replaced, of both families.
fn limits(switch: &VppSwitch) -> [(u32, u32, bool); 2] {
    FAMILIES.map(|af| {
        let found = switch.other_client().request(IpNeighborConfigGet { af });
        (found.max_number, found.max_age, found.recycle)
    })
}

fn network(switch: &VppSwitch, name: &str, number: u8) -> NodeNetwork {
    let addresses = [format!("10.{number}.0.1/16"), format!("fd00:{number}::1/64")];
    with_gateway(&switch.network(name), &addresses.each_ref().map(String::as_str), None)
}

fn gateway(switch: &VppSwitch, name: &str) -> u32 {
    switch.other_client().tagged(&format!("usngw:{name}")).sw_if_index
}

fn neighbours(switch: &VppSwitch, name: &str) -> [usize; 2] {
    let sw_if_index = gateway(switch, name);
    FAMILIES.map(|af| {
        let all = switch.other_client().dump(IpNeighborDump { sw_if_index: NO_INTERFACE, af });
        all.iter().filter(|details| details.neighbor.sw_if_index == sw_if_index).count()
    })
}

/// Adds so many neighbours of a family.
fn add(switch: &VppSwitch, name: &str, number: u8, family: AddressFamily, count: usize) {
    let sw_if_index = gateway(switch, name);
    let address = |place: usize| -> IpAddr {
        let place = u16::try_from(place + 256).expect("less than 65536");
        let [high, low] = place.to_be_bytes();
        if family == AddressFamily::Ip6 {
            Ipv6Addr::new(0xfd00, number.into(), 0, 0, 0, 0, 0, place).into()
        } else {
            Ipv4Addr::new(10, number, high, low).into()
        }
    };
    let all = (0..count).map(|place| IpNeighborAddDel {
        is_add: true,
        neighbor: IpNeighbor { sw_if_index, flags: 0, mac_address: [2; 6], ip_address: address(place).into() },
    });
    switch.other_client().request_all(all);
}

pub(crate) fn the_limit_of_neighbours_is_set_with_a_gateway_and_kept(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let before = limits(switch);
    converge(&mut engine, &switch.desired(&[switch.network("plain")], &[]));
    assert_eq!(limits(switch), before, "a network without a gateway does not need it");

    let blue = network(switch, "blue", 1);
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    converge(&mut engine, &desired);
    let wanted = (u32::try_from(NEIGHBOUR_LIMIT).expect("a limit"), 0, false);
    assert_eq!(limits(switch), [wanted; 2]);
    for (af, max_number, max_age, recycle) in [(FAMILIES[0], 50_000, 0, false), (FAMILIES[1], wanted.0, 60, true)] {
        switch.other_client().request(IpNeighborConfig { af, max_number, max_age, recycle });
        assert_eq!(converge(&mut engine, &desired).len(), 1);
        assert_eq!(limits(switch), [wanted; 2]);
    }
}

pub(crate) fn a_gateway_with_too_many_neighbours_is_set_down_and_up_again(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let networks = [network(switch, "blue", 1), network(switch, "red", 2)];
    let desired = switch.desired(&networks, &["c1"]);
    let held = desired.clone().with_held_gateways([networks[0].name.clone()].into());
    converge(&mut engine, &desired);
    for family in FAMILIES {
        let excess = |engine: &mut _| observe(engine).routing.gateways.values().map(|it| it.excess).collect::<Vec<_>>();
        add(switch, "red", 2, family, 3);
        add(switch, "blue", 1, family, NEIGHBOUR_SHARE);
        assert_eq!(excess(&mut engine), [None, None], "{family:?}");
        add(switch, "blue", 1, family, NEIGHBOUR_SHARE + 1);
        assert_eq!(excess(&mut engine), [Some(NEIGHBOUR_SHARE + 1), None]);

        let operations = converge(&mut engine, &held);
        assert_eq!(operations[0].to_string(), "set the gateway of network blue down");
        assert_eq!((operations.len(), neighbours(switch, "blue")), (1, [0, 0]));
        assert_ne!(neighbours(switch, "red"), [0, 0], "others keep theirs");
        let bvi = || switch.other_client().domains()[&domain_id(bridge(&networks[0]))].bvi_sw_if_index;
        assert_eq!(bvi(), NO_INTERFACE, "nothing of the network reaches it");
        assert_eq!(excess(&mut engine), [None, None]);

        assert_eq!(converge(&mut engine, &desired).len(), 1);
        assert_eq!(bvi(), gateway(switch, "blue"));
    }
}

/// Each of several networks has less than its share.
pub(crate) fn of_a_table_that_is_nearly_full_the_largest_part_is_too_much(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let names = ["n1", "n2", "n3", "n4"];
    let networks: Vec<_> = (1..).zip(names).map(|(number, name)| network(switch, name, number)).collect();
    converge(&mut engine, &switch.desired(&networks, &[]));
    let excess = |engine: &mut _| observe(engine).routing.gateways.values().map(|it| it.excess).collect::<Vec<_>>();
    let part = NEIGHBOUR_RESERVE / 4;
    for (number, name) in (1..).zip(names) {
        add(switch, name, number, FAMILIES[0], part);
    }
    assert_eq!(excess(&mut engine), [None; 4]);
    add(switch, "n3", 3, FAMILIES[0], part + 1);
    assert_eq!(excess(&mut engine), [None, None, Some(part + 1), None]);
}
