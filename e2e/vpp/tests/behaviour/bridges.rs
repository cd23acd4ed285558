//! Bridge domains and their members.

use crate::{Fixture, on_each};
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    BdFlags, BridgeDomainAddDel, BridgeDomainAddDelV2, BridgeDomainDetails, BridgeDomainDump,
    BridgeDomainSetLearnLimit, BridgeDomainSetMacAge, BridgeFlags, CliInband, DeleteLoopback, L2PortType,
    NO_BRIDGE_DOMAIN, NO_INTERFACE, SwInterfaceSetL2Bridge,
};
use usnet_vpp::wire::FixedText;

impl Fixture {
    fn bridge(&mut self, bd_id: u32, is_add: bool) -> Result<u32, ReturnCode> {
        self.request(BridgeDomainAddDelV2 { bd_id, is_add, ..Default::default() }).map(|reply| reply.bd_id)
    }

    fn enter(&mut self, rx_sw_if_index: u32, bd_id: u32, port_type: L2PortType) -> Result<(), ReturnCode> {
        let bridge = SwInterfaceSetL2Bridge { rx_sw_if_index, bd_id, port_type, enable: true, ..Default::default() };
        self.request(bridge).map(drop)
    }

    fn bridges(&mut self) -> Vec<BridgeDomainDetails> {
        let mut all = self.dump(BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE });
        all.sort_by_key(|domain| domain.bd_id);
        all
    }

    fn only_bridge(&mut self) -> BridgeDomainDetails {
        let [domain] = <[_; 1]>::try_from(self.bridges()).expect("one bridge domain");
        domain
    }
}

fn members(domain: &BridgeDomainDetails) -> Vec<u32> {
    domain.sw_if_details.iter().map(|member| member.sw_if_index).collect()
}

#[test]
fn ids_that_are_refused() {
    on_each(|vpp| {
        assert_eq!(vpp.bridge(0, true), Err(ReturnCode::BdAlreadyExists));
        assert_eq!(vpp.bridge(0, false), Err(ReturnCode::BdNotModifiable));
        assert_eq!(vpp.bridge(0x0100_0000, true), Err(ReturnCode::BdIdExceedMax));
        assert_eq!(vpp.bridge(0x0100_0000, false), Err(ReturnCode::NoSuchEntry));
        assert_eq!(vpp.bridge(999, false), Err(ReturnCode::NoSuchEntry));
        assert_eq!(vpp.bridge(NO_BRIDGE_DOMAIN, false), Err(ReturnCode::NoSuchEntry));
        let older = BridgeDomainAddDel { bd_id: NO_BRIDGE_DOMAIN, is_add: true, ..Default::default() };
        assert_eq!(vpp.request(older).err(), Some(ReturnCode::BdIdExceedMax));
        assert_eq!(vpp.bridge(0x00ff_ffff, true), Ok(0x00ff_ffff));
        assert_eq!(vpp.bridges().len(), 1);
    });
}

#[test]
fn chosen_ids_are_the_same_in_each_start() {
    on_each(|vpp| {
        assert_eq!(vpp.bridge(NO_BRIDGE_DOMAIN, true), Ok(7_271_263));
        assert_eq!(vpp.bridge(NO_BRIDGE_DOMAIN, true), Ok(5_253_426));
    });
}

#[test]
fn adding_one_that_is_there_changes_nothing() {
    on_each(|vpp| {
        let tag = FixedText::new("t".repeat(63)).expect("fits");
        let first = BridgeDomainAddDelV2 {
            bd_id: 4,
            is_add: true,
            learn: true,
            arp_term: true,
            mac_age: 5,
            bd_tag: tag.clone(),
            ..Default::default()
        };
        vpp.request(first.clone()).expect("add");
        let second = BridgeDomainAddDelV2 { flood: true, bd_tag: FixedText::default(), ..first };
        assert_eq!(vpp.request(second).err(), Some(ReturnCode::BdAlreadyExists));
        let observed = vpp.only_bridge();
        assert_eq!((observed.bd_id, observed.mac_age, observed.bd_tag), (4, 5, tag));
        let flags =
            [observed.learn, observed.arp_term, observed.flood, observed.uu_flood, observed.forward, observed.arp_ufwd];
        assert_eq!(flags, [true, true, false, false, false, false]);
        assert_eq!((observed.bvi_sw_if_index, observed.uu_fwd_sw_if_index), (NO_INTERFACE, NO_INTERFACE));
    });
}

#[test]
fn flags_and_age_can_be_changed() {
    on_each(|vpp| {
        vpp.bridge(4, true).expect("add");
        let flags = |bd_id, is_set, flags| BridgeFlags { bd_id, is_set, flags };
        let mut bitmap = |is_set, bits| vpp.request(flags(4, is_set, bits)).expect("flags").resulting_feature_bitmap;
        for (flag, feature) in [
            (BdFlags::LEARN, 0x200),
            (BdFlags::FWD, 0x80),
            (BdFlags::FLOOD, 0x4),
            (BdFlags::UU_FLOOD, 0x20),
            (BdFlags::ARP_TERM, 0x10),
            (BdFlags::ARP_UFWD, 0x8),
        ] {
            assert_eq!((bitmap(true, flag), bitmap(false, flag)), (0xffff_fd03 | feature, 0xffff_fd03), "{flag:?}");
        }
        bitmap(true, BdFlags::LEARN | BdFlags::FLOOD);
        vpp.request(BridgeDomainSetMacAge { bd_id: 4, mac_age: 255 }).expect("age");
        let observed = vpp.only_bridge();
        assert_eq!((observed.learn, observed.flood, observed.forward, observed.mac_age), (true, true, false, 255));
        for (bd_id, refused) in [(0, ReturnCode::BdNotModifiable), (998, ReturnCode::NoSuchEntry)] {
            assert_eq!(vpp.request(flags(bd_id, true, BdFlags::LEARN)).err(), Some(refused));
            assert_eq!(vpp.request(BridgeDomainSetMacAge { bd_id, mac_age: 1 }).err(), Some(refused));
        }
    });
}

#[test]
fn a_command_tells_how_many_addresses_each_may_learn() {
    on_each(|vpp| {
        vpp.bridge(4, true).expect("add");
        vpp.bridge(5, true).expect("add");
        vpp.request(BridgeDomainSetLearnLimit { bd_id: 5, learn_limit: 77 }).expect("limit");
        let printed = vpp.request(CliInband { cmd: "show bridge-domain".into() }).expect("a table").reply;
        let lines: Vec<Vec<&str>> = printed.as_str().lines().map(|line| line.split_whitespace().collect()).collect();
        let titles = lines.iter().find(|line| line.contains(&"BD-ID")).expect("titles");
        let column = |title: &str| titles.iter().position(|found| found.starts_with(title)).expect("a column");
        let (id, limit) = (column("BD-ID"), column("Learn-li"));
        let rows = lines.iter().filter(|line| line.len() == titles.len() && *line != titles);
        let mut limits: Vec<_> = rows.map(|row| (row[id], row[limit])).collect();
        limits.sort_unstable();
        assert_eq!(limits, [("4", "16777216"), ("5", "77")]);
        for (bd_id, refused) in [(0, ReturnCode::BdNotModifiable), (998, ReturnCode::NoSuchEntry)] {
            assert_eq!(vpp.request(BridgeDomainSetLearnLimit { bd_id, learn_limit: 1 }).err(), Some(refused));
        }
    });
}

#[test]
fn putting_an_interface_into_one_that_is_not_there_makes_it() {
    on_each(|vpp| {
        let loopback = vpp.loopback();
        vpp.enter(loopback, 6, L2PortType::Normal).expect("silent create");
        let observed = vpp.only_bridge();
        assert_eq!(
            (observed.bd_id, members(&observed), observed.bd_tag.as_str(), observed.mac_age),
            (6, vec![loopback], "", 0)
        );
        let flags =
            [observed.learn, observed.forward, observed.flood, observed.uu_flood, observed.arp_term, observed.arp_ufwd];
        assert_eq!(flags, [true, true, true, true, false, false]);
        assert_eq!(vpp.enter(loopback, 0x0100_0000, L2PortType::Normal), Err(ReturnCode::BdIdExceedMax));
        assert_eq!(vpp.enter(loopback, 6, L2PortType::Other(7)), Err(ReturnCode::InvalidValue));
        assert_eq!(vpp.only_bridge(), observed);
    });
}

#[test]
fn domain_0_takes_interfaces_and_is_not_listed() {
    on_each(|vpp| {
        let loopback = vpp.loopback();
        vpp.enter(loopback, 4, L2PortType::Normal).expect("enter");
        vpp.enter(loopback, 0, L2PortType::Normal).expect("the black hole");
        assert_eq!(members(&vpp.only_bridge()), [0; 0]);
    });
}

#[test]
fn interface_moves_and_a_domain_with_members_stays() {
    on_each(|vpp| {
        let all: Vec<u32> = (0..3).map(|_| vpp.loopback()).collect();
        let &[first, second, third] = all.as_slice() else { panic!("three") };
        for index in [first, second, third] {
            let enter =
                SwInterfaceSetL2Bridge { rx_sw_if_index: index, bd_id: 4, shg: 3, enable: true, ..Default::default() };
            vpp.request(enter).expect("enter");
        }
        vpp.enter(first, 4, L2PortType::Normal).expect("again");
        let groups = |observed: &BridgeDomainDetails| {
            observed.sw_if_details.iter().map(|member| (member.sw_if_index, member.shg)).collect::<Vec<_>>()
        };
        assert_eq!(groups(&vpp.only_bridge()), [(second, 3), (third, 3), (first, 0)]);
        assert_eq!(vpp.bridge(4, false), Err(ReturnCode::BdInUse));
        vpp.enter(second, 5, L2PortType::Normal).expect("move");
        vpp.request(DeleteLoopback { sw_if_index: third }).expect("delete");
        let leave = SwInterfaceSetL2Bridge { rx_sw_if_index: first, bd_id: 1234, ..Default::default() };
        vpp.request(leave.clone()).expect("leave whatever the domain");
        vpp.request(leave).expect("leave twice");
        assert_eq!(vpp.bridge(4, false), Ok(4));
        assert_eq!(members(&vpp.only_bridge()), [second]);
    });
}

#[test]
fn domain_has_one_way_to_layer_3() {
    on_each(|vpp| {
        let (bvi, other, unknown) = (vpp.loopback(), vpp.loopback(), vpp.loopback());
        vpp.enter(bvi, 4, L2PortType::Bvi).expect("BVI");
        vpp.enter(other, 4, L2PortType::Normal).expect("member");
        assert_eq!(vpp.enter(other, 4, L2PortType::Bvi), Err(ReturnCode::BdAlreadyHasBvi));
        vpp.enter(unknown, 4, L2PortType::UuFwd).expect("way of unknown addresses");
        let observed = vpp.only_bridge();
        assert_eq!((observed.bvi_sw_if_index, observed.uu_fwd_sw_if_index), (bvi, unknown));
        assert_eq!(members(&observed), [bvi], "the refusal took the other one out");
        vpp.enter(bvi, 4, L2PortType::Bvi).expect("the same again");
        vpp.request(DeleteLoopback { sw_if_index: bvi }).expect("delete");
        vpp.request(DeleteLoopback { sw_if_index: unknown }).expect("delete");
        let observed = vpp.only_bridge();
        assert_eq!((observed.bvi_sw_if_index, observed.uu_fwd_sw_if_index), (NO_INTERFACE, NO_INTERFACE));
    });
}

#[test]
fn dump_finds_by_id_and_not_by_member() {
    on_each(|vpp| {
        let loopback = vpp.loopback();
        vpp.enter(loopback, 4, L2PortType::Normal).expect("enter");
        vpp.bridge(5, true).expect("add");
        let mut ids = |bd_id, sw_if_index| {
            let found = vpp.dump(BridgeDomainDump { bd_id, sw_if_index });
            found.into_iter().map(|domain| domain.bd_id).collect::<Vec<_>>()
        };
        assert_eq!(ids(5, NO_INTERFACE), [5]);
        assert_eq!(ids(0, NO_INTERFACE), [0; 0]);
        assert_eq!(ids(9, NO_INTERFACE), [0; 0]);
        assert_eq!(ids(NO_BRIDGE_DOMAIN, loopback), [0; 0]);
    });
}
