//! Sub-interfaces of an interface on a device of the kernel.

use super::af_packet::{ip, is_up};
use crate::{Fixture, on_each};
use nix::sched::{CloneFlags, unshare};
use std::process::Command;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    AfPacketDelete, BridgeDomainDump, CreateSubif, DeleteSubif, IfStatusFlags, IfType, L2InterfaceEfpFilter,
    L2InterfaceVlanTagRewrite, L2OutputFeatures, NO_BRIDGE_DOMAIN, NO_INTERFACE, SubIfFlags, SwInterfaceSetFlags,
    VtrOp,
};
use usnet_vpp::wire::FixedText;

/// Returns the flags of a sub-interface of one VLAN.
fn exact() -> SubIfFlags {
    SubIfFlags::ONE_TAG | SubIfFlags::EXACT_MATCH
}

impl Fixture {
    /// Creates an interface on `veth0`, which is created in a network namespace.
    fn on_veth(&mut self) -> u32 {
        ip("link add veth0 type veth peer name veth1");
        self.on_device("veth0").expect("an interface").sw_if_index
    }

    fn create_sub(&mut self, parent: u32, sub_if_flags: SubIfFlags, vlan: u16) -> Result<u32, ReturnCode> {
        let (sub_id, outer_vlan_id) = (if vlan == 0 { 4095 } else { vlan.into() }, vlan);
        let create = CreateSubif { sw_if_index: parent, sub_id, sub_if_flags, outer_vlan_id, inner_vlan_id: 0 };
        self.request(create).map(|reply| reply.sw_if_index)
    }

    fn rewrite(&mut self, sw_if_index: u32, vtr_op: VtrOp) -> Result<(), ReturnCode> {
        self.request(L2InterfaceVlanTagRewrite { sw_if_index, vtr_op, push_dot1q: 1, ..Default::default() }).map(drop)
    }

    pub(super) fn members(&mut self, bd_id: u32) -> Vec<u32> {
        let all = BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE };
        let domain = self.dump(all).into_iter().find(|domain| domain.bd_id == bd_id).expect("a bridge domain");
        domain.sw_if_details.into_iter().map(|member| member.sw_if_index).collect()
    }

    fn end(&mut self) {
        self.request(AfPacketDelete { host_if_name: FixedText::new("veth0").expect("fits") }).expect("a deletion");
        ip("link del veth0");
    }
}

#[test]
fn a_sub_interface_has_one_vlan_and_pops_its_tag() {
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    on_each(|vpp| {
        let parent = vpp.on_veth();
        let sub = vpp.create_sub(parent, exact(), 100).expect("a sub-interface");
        let observed = vpp.interface(sub);
        assert_eq!((observed.interface_name.as_str(), observed.sup_sw_if_index), ("host-veth0.100", parent));
        assert_eq!((observed.r#type, observed.interface_dev_type.as_str()), (IfType::Sub, "af-packet"));
        assert_eq!((observed.sub_id, observed.sub_number_of_tags, observed.sub_outer_vlan_id), (100, 1, 100));
        assert_eq!((observed.sub_if_flags, observed.sub_inner_vlan_id), (exact(), 0));
        assert_eq!(observed.l2_address, [0; 6], "it sends with that of its interface");
        assert!(!observed.flags.contains(IfStatusFlags::ADMIN_UP));
        assert_eq!(vpp.interface(parent).r#type, IfType::Hardware);
        assert_eq!(
            (vpp.rewrite(sub, VtrOp::Pop1), vpp.rewrite(parent, VtrOp::Pop1)),
            (Ok(()), Err(ReturnCode::InvalidVlanTagCount))
        );
        let observed = vpp.interface(sub);
        assert_eq!((observed.vtr_op, observed.vtr_tag1), (VtrOp::Pop1, 0));
        vpp.end();
    });
}

#[test]
fn frames_belong_to_one_sub_interface_and_untagged_ones_to_the_interface() {
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    on_each(|vpp| {
        let parent = vpp.on_veth();
        vpp.create_sub(parent, exact(), 100).expect("a sub-interface");
        let (there, failed) = (Err(ReturnCode::VlanAlreadyExists), Err(ReturnCode::Unspecified));
        assert_eq!(vpp.create_sub(parent, exact(), 100), there);
        let (sub_id, outer_vlan_id) = (7, 100);
        let same = CreateSubif { sw_if_index: parent, sub_id, sub_if_flags: exact(), outer_vlan_id, inner_vlan_id: 0 };
        assert_eq!(vpp.request(same).map(|reply| reply.sw_if_index), failed);
        assert_eq!(vpp.create_sub(parent, SubIfFlags::NO_TAGS, 0), failed);
        let default = vpp.create_sub(parent, SubIfFlags::DEFAULT, 0).expect("a sub-interface");
        let observed = vpp.interface(default);
        assert_eq!((observed.sub_id, observed.sub_number_of_tags, observed.sub_outer_vlan_id), (4095, 0, 0));
        assert_eq!(observed.sub_if_flags, SubIfFlags::DEFAULT);
        assert_eq!(vpp.create_sub(parent, SubIfFlags::DEFAULT, 0), there);
        assert_eq!(vpp.create_sub(99, exact(), 7), Err(ReturnCode::InvalidSwIfIndex));
        vpp.request(DeleteSubif { sw_if_index: default }).expect("a deletion");
        assert_eq!(vpp.request(DeleteSubif { sw_if_index: default }).err(), Some(ReturnCode::InvalidSwIfIndex));
        assert_eq!(vpp.request(DeleteSubif { sw_if_index: parent }).err(), Some(ReturnCode::InvalidSubSwIfIndex));
        vpp.create_sub(parent, SubIfFlags::DEFAULT, 0).expect("it is free again");
        vpp.end();
    });
}

#[test]
fn sub_interfaces_go_with_their_interface_and_out_of_bridge_domains() {
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    on_each(|vpp| {
        let parent = vpp.on_veth();
        let subs = [100, 200].map(|vlan| vpp.create_sub(parent, exact(), vlan).expect("a sub-interface"));
        // Settings before the interface joins are in effect from the first frame on.
        vpp.request(L2InterfaceEfpFilter { sw_if_index: subs[0], enable_disable: true }).expect("a filter");
        vpp.rewrite(subs[0], VtrOp::Pop1).expect("a rewrite");
        vpp.set_domain(subs[0], 4, true);
        let (_, output) = vpp.features(subs[0]).expect("features");
        assert!(output.contains(L2OutputFeatures::EFP_FILTER));
        assert_eq!(vpp.interface(subs[0]).vtr_op, VtrOp::Pop1);
        vpp.set_domain(subs[1], 4, true);
        vpp.set_domain(parent, 5, true);
        assert_eq!(vpp.members(4).len(), 2);
        for sw_if_index in [parent, subs[0]] {
            vpp.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::ADMIN_UP }).expect("up");
        }
        assert!(vpp.interface(subs[0]).flags.contains(IfStatusFlags::ADMIN_UP));
        vpp.request(SwInterfaceSetFlags { sw_if_index: subs[0], flags: IfStatusFlags::default() }).expect("down");
        assert!(is_up("veth0"), "the device has the state of its interface");
        vpp.request(DeleteSubif { sw_if_index: subs[0] }).expect("a deletion");
        assert_eq!(vpp.members(4), [subs[1]]);
        vpp.end();
        assert_eq!((vpp.members(4), vpp.members(5)), (vec![], vec![]));
        let left = vpp.interfaces().into_iter().map(|found| found.interface_name.into_string()).collect::<Vec<_>>();
        assert_eq!(left, ["local0"]);
    });
}

/// The MAC address of the request is that of the interface, and not of the device.
#[test]
fn the_device_keeps_its_address_and_has_no_promiscuity() {
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    on_each(|vpp| {
        ip("link add veth0 address 02:00:00:00:00:77 type veth peer name veth1");
        vpp.on_device_with_mac("veth0", [2, 0x75, 0, 0, 0, 7]);
        let link_details = || {
            let output = Command::new("ip").args(["-d", "link", "show", "dev", "veth0"]).output().expect("ip");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let during = link_details();
        assert!(during.contains("02:00:00:00:00:77") && during.contains("promiscuity 0"), "{during}");
        vpp.end();
    });
}
