//! VXLAN tunnels.

use crate::{Fixture, on_each};
use std::net::IpAddr;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    ANY_INSTANCE, Address, DECAP_L2_INPUT, IfStatusFlags, NO_INTERFACE, Prefix, SwInterfaceAddDelAddress,
    SwInterfaceTagAddDel, VxlanAddDelTunnelV3, VxlanTunnelV2Details, VxlanTunnelV2Dump,
};
use usnet_vpp::wire::FixedText;

const VNI: u32 = 7001;

fn address(text: &str) -> Address {
    text.parse::<IpAddr>().expect("an address").into()
}

fn tunnel(source: &str, destination: &str) -> VxlanAddDelTunnelV3 {
    VxlanAddDelTunnelV3 {
        is_add: true,
        instance: ANY_INSTANCE,
        src_address: address(source),
        dst_address: address(destination),
        src_port: 4790,
        dst_port: 4789,
        mcast_sw_if_index: NO_INTERFACE,
        encap_vrf_id: 0,
        decap_next_index: DECAP_L2_INPUT,
        vni: VNI,
        is_l3: false,
    }
}

impl Fixture {
    fn create_tunnel(&mut self, tunnel: VxlanAddDelTunnelV3) -> Result<u32, ReturnCode> {
        self.request(tunnel).map(|reply| reply.sw_if_index)
    }

    fn delete_tunnel(&mut self, tunnel: VxlanAddDelTunnelV3) -> Result<u32, ReturnCode> {
        self.create_tunnel(VxlanAddDelTunnelV3 { is_add: false, ..tunnel })
    }

    fn tunnels(&mut self, sw_if_index: u32) -> Vec<VxlanTunnelV2Details> {
        self.dump(VxlanTunnelV2Dump { sw_if_index })
    }
}

#[test]
fn a_tunnel_is_up_and_read_back_as_it_was_created() {
    on_each(|vpp| {
        let four = vpp.create_tunnel(tunnel("10.0.0.1", "10.0.0.2")).expect("a tunnel");
        let six = vpp.create_tunnel(tunnel("fd00::1", "fd00::2")).expect("a tunnel");
        let observed = vpp.interface(four);
        assert_eq!(
            (observed.interface_name.as_str(), observed.interface_dev_type.as_str()),
            ("vxlan_tunnel0", "VXLAN")
        );
        assert_eq!(observed.flags, IfStatusFlags::ADMIN_UP | IfStatusFlags::LINK_UP);
        assert_eq!((observed.link_mtu, observed.mtu, observed.tag.as_str()), (9000, [9000, 0, 0, 0], ""));
        assert_eq!(observed.l2_address[..2], [0x02, 0xfe]);
        let expected = |sw_if_index, instance, source, destination| VxlanTunnelV2Details {
            sw_if_index,
            instance,
            src_address: address(source),
            dst_address: address(destination),
            src_port: 4790,
            dst_port: 4789,
            mcast_sw_if_index: NO_INTERFACE,
            encap_vrf_id: 0,
            decap_next_index: 1,
            vni: VNI,
        };
        let both = [expected(four, 0, "10.0.0.1", "10.0.0.2"), expected(six, 1, "fd00::1", "fd00::2")];
        assert_eq!(vpp.tunnels(NO_INTERFACE), both);
        assert_eq!(vpp.tunnels(six), both[1..]);
        assert_eq!(vpp.tunnels(99), []);
    });
}

#[test]
fn a_tunnel_that_is_there_or_cannot_be_is_refused() {
    on_each(|vpp| {
        let first = tunnel("10.0.0.1", "10.0.0.2");
        vpp.create_tunnel(first.clone()).expect("a tunnel");
        vpp.create_tunnel(tunnel("fd00::1", "fd00::2")).expect("a tunnel");
        let refused = [
            (first.clone(), ReturnCode::TunnelExist),
            (VxlanAddDelTunnelV3 { dst_port: 8472, ..first.clone() }, ReturnCode::TunnelExist),
            (tunnel("fd00::9", "fd00::2"), ReturnCode::TunnelExist),
            (tunnel("10.0.0.1", "10.0.0.1"), ReturnCode::SameSrcDst),
            (tunnel("10.0.0.1", "fd00::2"), ReturnCode::InvalidValue),
            (VxlanAddDelTunnelV3 { encap_vrf_id: 77, vni: 1, ..first.clone() }, ReturnCode::NoSuchFib),
            (VxlanAddDelTunnelV3 { instance: 0, vni: 1, ..first.clone() }, ReturnCode::InstanceInUse),
            (VxlanAddDelTunnelV3 { decap_next_index: 77, vni: 1, ..first.clone() }, ReturnCode::InvalidDecapNext),
            (tunnel("10.0.0.1", "239.1.1.1"), ReturnCode::InvalidSwIfIndex),
        ];
        for (tunnel, code) in refused {
            assert_eq!(vpp.create_tunnel(tunnel.clone()), Err(code), "{tunnel:?}");
        }
        for different in [
            tunnel("10.0.0.9", "10.0.0.2"),
            VxlanAddDelTunnelV3 { vni: VNI + 1, ..first.clone() },
            VxlanAddDelTunnelV3 { src_port: 4789, ..first },
        ] {
            vpp.create_tunnel(different).expect("another tunnel");
        }
        assert_eq!(vpp.delete_tunnel(tunnel("10.0.0.1", "10.0.0.3")), Err(ReturnCode::NoSuchEntry));
        assert_eq!(vpp.tunnels(NO_INTERFACE).len(), 5);
    });
}

#[test]
fn a_deleted_tunnel_leaves_its_bridge_domain_and_no_tag() {
    on_each(|vpp| {
        let created = vpp.create_tunnel(tunnel("10.0.0.1", "10.0.0.2")).expect("a tunnel");
        let tag = FixedText::new("mine").expect("fits");
        vpp.request(SwInterfaceTagAddDel { is_add: true, sw_if_index: created, tag }).expect("a tag");
        vpp.set_domain(created, 4, true);
        assert_eq!((vpp.members(4), vpp.interface(created).tag.as_str()), (vec![created], "mine"));
        assert_eq!(vpp.delete_tunnel(tunnel("10.0.0.1", "10.0.0.2")), Ok(created));
        assert_eq!((vpp.members(4), vpp.tunnels(NO_INTERFACE)), (vec![], vec![]));
        assert_eq!(vpp.create_tunnel(tunnel("10.0.0.1", "10.0.0.3")), Ok(created), "its index is used again");
        let observed = vpp.interface(created);
        assert_eq!((observed.tag.as_str(), observed.interface_name.as_str()), ("", "vxlan_tunnel0"));
        assert_eq!(vpp.members(4), []);
    });
}

/// VPP checks neither that it has the source nor that it has a route to the destination.
#[test]
fn a_tunnel_needs_no_address_and_keeps_no_address_from_going() {
    on_each(|vpp| {
        let sw_if_index = vpp.loopback();
        vpp.create_tunnel(tunnel("192.0.2.1", "192.0.2.2")).expect("a tunnel");
        for is_add in [true, false] {
            let prefix = Prefix::new("192.0.2.1".parse().expect("an address"), 24);
            let change = SwInterfaceAddDelAddress { sw_if_index, is_add, del_all: false, prefix };
            vpp.request(change).expect("an address comes and goes");
        }
        assert_eq!(vpp.tunnels(NO_INTERFACE).len(), 1);
    });
}
