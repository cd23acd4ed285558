//! Indexes, MTUs, tags, VLAN tag rewrites and flags of interfaces.

use crate::{Fixture, memif, on_each};
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    CreateLoopbackInstance, DeleteLoopback, HwInterfaceSetMtu, IfStatusFlags, L2InterfaceVlanTagRewrite, MemifCreateV2,
    MemifMode, SwInterfaceDump, SwInterfaceSetFlags, SwInterfaceSetL2Bridge, SwInterfaceSetMtu, SwInterfaceTagAddDel,
    VtrOp,
};
use usnet_vpp::wire::FixedText;

#[test]
fn index_of_last_deleted_interface_is_used_first() {
    on_each(|vpp| {
        let made: Vec<u32> = (0..4).map(|_| vpp.loopback()).collect();
        assert_eq!(made, [1, 2, 3, 4]);
        for sw_if_index in [1, 3] {
            vpp.request(DeleteLoopback { sw_if_index }).expect("delete");
        }
        assert_eq!([vpp.loopback(), vpp.loopback(), vpp.loopback()], [3, 1, 5]);
    });
}

#[test]
fn index_of_no_such_interface_is_refused() {
    on_each(|vpp| {
        let refused = Some(ReturnCode::InvalidSwIfIndex);
        let sw_if_index = 99;
        assert_eq!(vpp.request(SwInterfaceSetFlags { sw_if_index, ..Default::default() }).err(), refused);
        assert_eq!(vpp.request(SwInterfaceTagAddDel { sw_if_index, ..Default::default() }).err(), refused);
        assert_eq!(vpp.request(SwInterfaceSetMtu { sw_if_index, mtu: [1500; 4] }).err(), refused);
        assert_eq!(vpp.request(HwInterfaceSetMtu { sw_if_index, mtu: 1500 }).err(), refused);
        assert_eq!(vpp.request(L2InterfaceVlanTagRewrite { sw_if_index, ..Default::default() }).err(), refused);
        assert_eq!(vpp.request(DeleteLoopback { sw_if_index }).err(), refused);
        assert_eq!(vpp.request(DeleteLoopback { sw_if_index: 0 }).err(), refused);
        let enter = SwInterfaceSetL2Bridge { rx_sw_if_index: 99, bd_id: 4, enable: true, ..Default::default() };
        assert_eq!(vpp.request(enter).err(), refused);
    });
}

#[test]
fn dump_by_index_and_by_name() {
    on_each(|vpp| {
        vpp.loopback();
        let mut names = |sw_if_index, filter: Option<&str>| {
            let name_filter = filter.unwrap_or_default().into();
            let dump = SwInterfaceDump { sw_if_index, name_filter_valid: filter.is_some(), name_filter };
            let names = vpp.dump(dump).into_iter().map(|interface| interface.interface_name.into_string());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(0, None), ["local0", "loop0"], "0 is all");
        assert_eq!(names(1, None), ["loop0"]);
        assert_eq!(names(99, None), [""; 0]);
        assert_eq!(names(99, Some("OP0")), ["loop0"], "with a filter the index does not count");
    });
}

#[test]
fn loopbacks_have_numbers_and_links() {
    on_each(|vpp| {
        let mut create = |user_instance| {
            let is_specified = true;
            vpp.request(CreateLoopbackInstance { is_specified, user_instance, ..Default::default() })
                .map(|made| made.sw_if_index)
        };
        assert_eq!(create(5), Ok(1));
        assert_eq!(create(5), Err(ReturnCode::InvalidRegistration));
        assert_eq!(create(16384), Err(ReturnCode::InvalidRegistration));
        assert_eq!(vpp.loopback(), 2);
        let made = vpp.interface(1);
        assert_eq!((made.interface_name.as_str(), made.interface_dev_type.as_str()), ("loop5", "Loopback"));
        assert_eq!((made.l2_address, made.flags), ([0xde, 0xad, 0, 0, 0, 5], IfStatusFlags(0)));
        vpp.request(SwInterfaceSetFlags { sw_if_index: 1, flags: IfStatusFlags::ADMIN_UP }).expect("up");
        assert_eq!(vpp.interface(1).flags, IfStatusFlags::ADMIN_UP | IfStatusFlags::LINK_UP);
        assert_eq!(vpp.interface(2).interface_name.as_str(), "loop0");
    });
}

#[test]
fn link_cannot_be_set_up() {
    on_each(|vpp| {
        let sw_if_index = vpp.create_memif(0, 0).expect("memif");
        for (asked, is) in [(2, 0), (1, 1), (3, 1), (2, 0)] {
            vpp.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags(asked) }).expect("flags");
            assert_eq!(vpp.interface(sw_if_index).flags, IfStatusFlags(is), "{asked}");
        }
    });
}

#[test]
fn mtu_of_layer_3_can_be_set_and_that_of_the_link_on_memif_alone() {
    on_each(|vpp| {
        let (memif, loopback) = (vpp.create_memif(0, 0).expect("memif"), vpp.loopback());
        let mtus = |vpp: &mut Fixture, index| {
            let interface = vpp.interface(index);
            (interface.link_mtu, interface.mtu)
        };
        assert_eq!(mtus(vpp, memif), (9000, [9000, 0, 0, 0]));
        vpp.request(SwInterfaceSetMtu { sw_if_index: memif, mtu: [1400, 1, 2, 3] }).expect("layer 3");
        assert_eq!(mtus(vpp, memif), (9000, [1400, 1, 2, 3]));
        vpp.request(HwInterfaceSetMtu { sw_if_index: memif, mtu: 1500 }).expect("link");
        assert_eq!(mtus(vpp, memif), (1500, [1500, 1, 2, 3]), "it sets that of layer 3 as well");
        vpp.request(SwInterfaceSetMtu { sw_if_index: loopback, mtu: [100_000, 0, 0, 0] }).expect("layer 3");
        let set = HwInterfaceSetMtu { sw_if_index: loopback, mtu: 1500 };
        assert_eq!(vpp.request(set).err(), Some(ReturnCode::Unsupported));
        vpp.request(HwInterfaceSetMtu { sw_if_index: loopback, mtu: 9000 }).expect("what it has");
        assert_eq!(mtus(vpp, loopback), (9000, [100_000, 0, 0, 0]));
        let set = HwInterfaceSetMtu { sw_if_index: 0, mtu: 1500 };
        assert_eq!(vpp.request(set).err(), Some(ReturnCode::FeatureDisabled));
    });
}

#[test]
fn tag_is_kept_until_it_is_removed() {
    on_each(|vpp| {
        let sw_if_index = vpp.loopback();
        let tag = |text: &str| FixedText::new(text).expect("fits");
        let long = "x".repeat(63);
        vpp.request(SwInterfaceTagAddDel { is_add: true, sw_if_index, tag: tag(&long) }).expect("tag");
        let empty = SwInterfaceTagAddDel { is_add: true, sw_if_index, tag: tag("") };
        assert_eq!(vpp.request(empty).err(), Some(ReturnCode::InvalidValue));
        assert_eq!(vpp.interface(sw_if_index).tag, tag(&long));
        for _ in 0..2 {
            vpp.request(SwInterfaceTagAddDel { is_add: false, sw_if_index, tag: tag("") }).expect("untag");
            assert_eq!(vpp.interface(sw_if_index).tag, tag(""));
        }
    });
}

/// Returns operation, 802.1Q, and both tags, as in the details.
fn rewrite_of(vpp: &mut Fixture, sw_if_index: u32) -> (VtrOp, u32, u32, u32) {
    let observed = vpp.interface(sw_if_index);
    (observed.vtr_op, observed.vtr_push_dot1q, observed.vtr_tag1, observed.vtr_tag2)
}

fn push(sw_if_index: u32) -> L2InterfaceVlanTagRewrite {
    L2InterfaceVlanTagRewrite { sw_if_index, vtr_op: VtrOp::Push1, push_dot1q: 1, tag1: 77, tag2: 0 }
}

#[test]
fn vlan_tags_are_not_checked_and_a_refusal_forgets_them() {
    on_each(|vpp| {
        let sw_if_index = vpp.create_memif(0, 0).expect("memif");
        let refused = Err(ReturnCode::InvalidVlanTagCount);
        for (vtr_op, push_dot1q, tag1, tag2, answer, observed) in [
            (VtrOp::Push1, 1, 100, 0, Ok(()), (VtrOp::Push1, 1, 100, 0)),
            (VtrOp::Push1, 0, 100, 0, Ok(()), (VtrOp::Push1, 0, 100, 0)),
            (VtrOp::Push1, 1, 5000, 0, Ok(()), (VtrOp::Push1, 1, 5000, 0)),
            (VtrOp::Push1, 1, 70_000, 7, Ok(()), (VtrOp::Push1, 1, 4464, 0)),
            (VtrOp::Pop1, 0, 0, 0, refused, (VtrOp::Push1, 0, 0, 0)),
            (VtrOp::Push2, 1, 10, 20, Ok(()), (VtrOp::Push2, 1, 10, 20)),
            (VtrOp::Translate11, 1, 7, 0, refused, (VtrOp::Push2, 0, 0, 0)),
            (VtrOp::Other(9), 0, 0, 0, Err(ReturnCode::InvalidValue), (VtrOp::Push2, 0, 0, 0)),
            (VtrOp::Disabled, 0, 0, 0, Ok(()), (VtrOp::Disabled, 0, 0, 0)),
        ] {
            let asked = L2InterfaceVlanTagRewrite { sw_if_index, vtr_op, push_dot1q, tag1, tag2 };
            assert_eq!(vpp.request(asked.clone()).map(drop), answer, "{asked:?}");
            assert_eq!(rewrite_of(vpp, sw_if_index), observed, "{asked:?}");
        }
    });
}

#[test]
fn only_ethernet_has_vlan_tags() {
    on_each(|vpp| {
        let ip = vpp.request(MemifCreateV2 { mode: MemifMode::Ip, ..memif(0, 0) }).expect("memif").sw_if_index;
        for sw_if_index in [0, ip] {
            let asked = L2InterfaceVlanTagRewrite { sw_if_index, vtr_op: VtrOp::Push1, ..Default::default() };
            assert_eq!(vpp.request(asked).err(), Some(ReturnCode::InvalidInterface));
        }
        let observed = vpp.interface(ip);
        assert_eq!((observed.link_mtu, observed.mtu, observed.l2_address), (0, [0; 4], [0; 6]));
    });
}

#[test]
fn rewrite_stays_from_bridge_domain_to_bridge_domain_and_goes_with_the_last() {
    on_each(|vpp| {
        let sw_if_index = vpp.create_memif(0, 0).expect("memif");
        vpp.request(push(sw_if_index)).expect("rewrite");
        for (bd_id, enable, kept) in [(4, true, true), (6, true, true), (6, false, false)] {
            let bridge = SwInterfaceSetL2Bridge { rx_sw_if_index: sw_if_index, bd_id, enable, ..Default::default() };
            vpp.request(bridge).expect("bridge");
            let expected = if kept { (VtrOp::Push1, 1, 77, 0) } else { (VtrOp::Disabled, 0, 0, 0) };
            assert_eq!(rewrite_of(vpp, sw_if_index), expected, "{bd_id} {enable}");
        }
    });
}

#[test]
fn new_interface_has_nothing_of_the_bridged_one_that_had_its_index() {
    on_each(|vpp| {
        let sw_if_index = vpp.create_memif(0, 0).expect("memif");
        let fresh = vpp.interface(sw_if_index);
        let tag = FixedText::new("ours").expect("fits");
        vpp.request(SwInterfaceTagAddDel { is_add: true, sw_if_index, tag }).expect("tag");
        vpp.request(SwInterfaceSetMtu { sw_if_index, mtu: [1400; 4] }).expect("MTU");
        vpp.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::ADMIN_UP }).expect("up");
        vpp.request(push(sw_if_index)).expect("rewrite");
        let enter =
            SwInterfaceSetL2Bridge { rx_sw_if_index: sw_if_index, bd_id: 4, enable: true, ..Default::default() };
        vpp.request(enter).expect("enter");
        vpp.delete_memif(sw_if_index).expect("delete");
        assert_eq!(vpp.create_memif(0, 0), Ok(sw_if_index));
        let mut again = vpp.interface(sw_if_index);
        again.l2_address = fresh.l2_address;
        assert_eq!(again, fresh);
    });
}

#[test]
fn rewrite_of_an_interface_that_was_in_no_bridge_domain_is_inherited() {
    on_each(|vpp| {
        let sw_if_index = vpp.create_memif(0, 0).expect("memif");
        vpp.request(push(sw_if_index)).expect("rewrite");
        vpp.delete_memif(sw_if_index).expect("delete");
        assert_eq!(vpp.loopback(), sw_if_index);
        assert_eq!(rewrite_of(vpp, sw_if_index), (VtrOp::Push1, 1, 77, 0));
        let enter =
            SwInterfaceSetL2Bridge { rx_sw_if_index: sw_if_index, bd_id: 4, enable: true, ..Default::default() };
        vpp.request(enter).expect("enter");
        assert_eq!(rewrite_of(vpp, sw_if_index), (VtrOp::Push1, 1, 77, 0), "also in a bridge domain");
    });
}
