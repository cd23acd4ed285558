//! Neighbours that clients set.

use crate::{Fixture, on_each};
use std::net::IpAddr;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    AddressFamily, IfStatusFlags, IpNeighbor, IpNeighborAddDel, IpNeighborConfig, IpNeighborConfigGet, IpNeighborDump,
    NO_INTERFACE, Prefix, STATIC_NEIGHBOR, SwInterfaceAddDelAddress, SwInterfaceSetFlags,
};

const FOUR: AddressFamily = AddressFamily::Ip4;

fn add(vpp: &mut Fixture, sw_if_index: u32, address: &str, flags: u8) -> Result<(), ReturnCode> {
    let address: IpAddr = address.parse().expect("an address");
    let neighbor = IpNeighbor { sw_if_index, flags, mac_address: [2; 6], ip_address: address.into() };
    vpp.request(IpNeighborAddDel { is_add: true, neighbor }).map(drop)
}

fn addresses(vpp: &mut Fixture, sw_if_index: u32, af: AddressFamily) -> Vec<String> {
    let all = vpp.dump(IpNeighborDump { sw_if_index, af });
    let mut all: Vec<_> = all.iter().filter_map(|it| Some(it.neighbor.ip_address.ip()?.to_string())).collect();
    all.sort();
    all
}

/// Creates an interface that is up and has the address 10.0.0.1/24.
fn interface(vpp: &mut Fixture) -> u32 {
    let sw_if_index = vpp.loopback();
    vpp.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::ADMIN_UP }).expect("up");
    let prefix = Prefix::new("10.0.0.1".parse().expect("an address"), 24);
    vpp.request(SwInterfaceAddDelAddress { sw_if_index, is_add: true, del_all: false, prefix }).expect("an address");
    sw_if_index
}

#[test]
fn a_family_has_a_limit_for_all_interfaces_together() {
    on_each(|vpp| {
        let found = vpp.request(IpNeighborConfigGet { af: FOUR }).expect("the limit");
        assert_eq!((found.max_number, found.max_age, found.recycle), (50_000, 0, false));
        vpp.request(IpNeighborConfig { af: FOUR, max_number: 2, max_age: 0, recycle: false }).expect("a limit");
        assert_eq!(vpp.request(IpNeighborConfigGet { af: FOUR }).expect("the limit").max_number, 2);
        assert_eq!(vpp.request(IpNeighborConfigGet { af: AddressFamily::Ip6 }).expect("the limit").max_number, 50_000);
        let first = interface(vpp);
        let second = vpp.loopback();
        add(vpp, first, "10.0.0.2", 0).expect("the first");
        add(vpp, second, "10.0.0.2", 0).expect("the second");
        assert_eq!(add(vpp, first, "10.0.0.3", 0).err(), Some(ReturnCode::LimitExceeded));
        add(vpp, first, "10.0.0.2", 0).expect("it is there");
        assert_eq!(addresses(vpp, first, FOUR), ["10.0.0.2"]);
        assert_eq!(addresses(vpp, NO_INTERFACE, FOUR), ["10.0.0.2", "10.0.0.2"]);
    });
}

#[test]
fn an_interface_that_is_set_down_loses_what_was_learned() {
    on_each(|vpp| {
        let sw_if_index = interface(vpp);
        add(vpp, sw_if_index, "10.0.0.2", 0).expect("a neighbour");
        add(vpp, sw_if_index, "10.0.0.3", STATIC_NEIGHBOR).expect("a static neighbour");
        vpp.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::default() }).expect("down");
        assert_eq!(addresses(vpp, sw_if_index, FOUR), ["10.0.0.3"]);
    });
}
