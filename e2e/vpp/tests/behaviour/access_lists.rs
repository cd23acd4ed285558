//! Access lists, and what interfaces compare with them.

use crate::{Fixture, on_each};
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    AclAction, AclAddReplace, AclDel, AclDetails, AclDump, AclInterfaceEtypeWhitelistDump, AclInterfaceListDump,
    AclInterfaceSetAclList, AclInterfaceSetEtypeWhitelist, AclPluginGetConnTableMaxEntries, AclRule, ByDirection,
    CliInband, L2InputFeatures, L2OutputFeatures, NO_ACL, NO_INTERFACE, Prefix,
};
use usnet_vpp::wire::FixedText;

fn rule(source: &str, destination: &str) -> AclRule {
    let prefix = |text: &str| Prefix::new(text.parse().expect("an address"), 0);
    AclRule {
        action: AclAction::PermitReflect,
        source: prefix(source),
        destination: prefix(destination),
        protocol: 6,
        first_source: 1,
        last_source: 2,
        first_destination: 3,
        last_destination: 4,
        tcp_flags_mask: 0x12,
        tcp_flags_value: 0x02,
    }
}

fn lists(input: &[u32], output: &[u32]) -> ByDirection<u32> {
    ByDirection { input: input.to_vec(), output: output.to_vec() }
}

impl Fixture {
    fn write_acl(&mut self, acl_index: u32, rules: Vec<AclRule>) -> Result<u32, ReturnCode> {
        let tag = FixedText::new("a tag").expect("short");
        self.request(AclAddReplace { acl_index, tag, rules }).map(|reply| reply.acl_index)
    }

    fn add_acl(&mut self) -> u32 {
        self.write_acl(NO_ACL, vec![rule("0.0.0.0", "0.0.0.0")]).expect("an access list")
    }

    fn set_acls(&mut self, sw_if_index: u32, acls: ByDirection<u32>) -> Result<(), ReturnCode> {
        self.request(AclInterfaceSetAclList { sw_if_index, acls }).map(drop)
    }

    fn acls(&mut self, index: u32) -> ByDirection<u32> {
        let found = self.dump(AclInterfaceListDump { sw_if_index: index });
        found.into_iter().find(|details| details.sw_if_index == index).map(|details| details.acls).unwrap_or_default()
    }

    fn all_acls(&mut self) -> Vec<u32> {
        self.dump(AclDump { acl_index: NO_ACL }).into_iter().map(|acl| acl.acl_index).collect()
    }

    fn whitelist(&mut self, sw_if_index: u32) -> Option<ByDirection<u16>> {
        let found = self.dump(AclInterfaceEtypeWhitelistDump { sw_if_index });
        found.into_iter().find(|details| details.sw_if_index == sw_if_index).map(|details| details.whitelist)
    }

    /// Whether packets are compared that an interface receives, and that it sends.
    fn compares(&mut self, index: u32) -> [bool; 2] {
        let (input, output) = self.features(index).expect("features");
        [input.contains(L2InputFeatures::FEATURE_ARC), output.contains(L2OutputFeatures::FEATURE_ARC)]
    }
}

#[test]
fn rules_are_read_as_they_were_written_and_replaced_in_place() {
    on_each(|vpp| {
        let rules = vec![rule("0.0.0.0", "0.0.0.0"), rule("::", "::")];
        let index = vpp.write_acl(NO_ACL, rules.clone()).expect("an access list");
        let tag = FixedText::new("a tag").expect("short");
        let expected = |rules| [AclDetails { acl_index: index, tag: tag.clone(), rules }];
        assert_eq!(vpp.dump(AclDump { acl_index: index }), expected(rules.clone()));
        assert_eq!(vpp.write_acl(index, rules[1..].to_vec()), Ok(index));
        assert_eq!(vpp.dump(AclDump { acl_index: NO_ACL }), expected(rules[1..].to_vec()));
        assert_eq!(vpp.write_acl(77, rules.clone()), Err(ReturnCode::NoSuchEntry));
        assert_eq!(vpp.write_acl(NO_ACL, vec![rule("::", "0.0.0.0")]), Err(ReturnCode::InvalidSrcAddress));
        let backwards = AclRule { first_source: 3, ..rules[0].clone() };
        assert_eq!(vpp.write_acl(NO_ACL, vec![backwards]), Err(ReturnCode::InvalidValue2));
        assert_eq!(vpp.all_acls(), [index], "refused ones leave nothing");
    });
}

#[test]
fn an_access_list_that_is_used_is_not_deleted_and_its_number_is_used_again() {
    on_each(|vpp| {
        let [first, second] = [(); 2].map(|()| vpp.add_acl());
        let index = vpp.bridged();
        vpp.set_acls(index, lists(&[first], &[second])).expect("lists");
        let mut delete = |acl_index| vpp.request(AclDel { acl_index }).map(drop);
        assert_eq!(delete(first), Err(ReturnCode::AclInUseInbound));
        assert_eq!(delete(second), Err(ReturnCode::AclInUseOutbound));
        assert_eq!(delete(77), Err(ReturnCode::NoSuchEntry));
        assert_eq!(vpp.set_acls(index, lists(&[77], &[])), Err(ReturnCode::NoSuchEntry));
        vpp.set_acls(index, lists(&[second], &[second])).expect("lists");
        assert_eq!(vpp.request(AclDel { acl_index: first }).map(drop), Ok(()));
        assert_eq!(vpp.add_acl(), first);
    });
}

#[test]
fn what_leaves_its_bridge_domain_is_not_compared_until_it_had_no_lists() {
    on_each(|vpp| {
        let acl = vpp.add_acl();
        let index = vpp.bridged();
        assert_eq!(vpp.compares(index), [false, false]);
        vpp.set_acls(index, lists(&[acl], &[])).expect("lists");
        assert_eq!(vpp.compares(index), [true, false]);
        vpp.set_acls(index, lists(&[acl], &[acl])).expect("lists");
        assert_eq!(vpp.compares(index), [true, true]);
        vpp.set_domain(index, 5, true);
        assert_eq!(vpp.compares(index), [true, true], "it moved");
        vpp.set_domain(index, 5, false);
        vpp.set_domain(index, 5, true);
        assert_eq!((vpp.acls(index), vpp.compares(index)), (lists(&[acl], &[acl]), [false, false]));
        vpp.set_acls(index, lists(&[acl], &[acl])).expect("it is answered");
        assert_eq!(vpp.compares(index), [false, false], "but does nothing");
        vpp.set_acls(index, lists(&[], &[])).expect("none");
        vpp.set_acls(index, lists(&[acl], &[acl])).expect("lists");
        assert_eq!(vpp.compares(index), [true, true]);
    });
}

#[test]
fn lists_go_with_their_interface_and_its_whitelist_stays() {
    on_each(|vpp| {
        let acl = vpp.add_acl();
        let index = vpp.bridged();
        assert_eq!(vpp.whitelist(index), None);
        let whitelist = ByDirection { input: vec![0x0806, 0x8035], output: vec![0x0806] };
        let set = AclInterfaceSetEtypeWhitelist { sw_if_index: index, whitelist: whitelist.clone() };
        vpp.request(set).expect("a whitelist");
        vpp.set_acls(index, lists(&[acl], &[acl])).expect("lists");
        assert_eq!(vpp.whitelist(index), Some(whitelist.clone()));
        vpp.delete_memif(index).expect("delete");
        assert_eq!(vpp.dump(AclInterfaceListDump { sw_if_index: NO_INTERFACE }).len(), 1, "local0");
        assert_eq!(vpp.bridged(), index);
        assert_eq!((vpp.acls(index), vpp.compares(index)), (lists(&[], &[]), [false, false]));
        assert_eq!(vpp.whitelist(index), Some(whitelist));
        vpp.set_acls(index, lists(&[acl], &[acl])).expect("lists");
        assert_eq!(vpp.compares(index), [true, true]);
    });
}

#[test]
fn how_many_sessions_there_are_is_printed_first_and_how_many_there_may_be_is_read() {
    on_each(|vpp| {
        let printed = vpp.request(CliInband { cmd: "show acl-plugin sessions".into() }).expect("a text").reply;
        assert_eq!(printed.as_str().lines().next(), Some("Sessions total: add 0 - del 0 = 0"), "{printed:?}");
        let limit = vpp.request(AclPluginGetConnTableMaxEntries {}).expect("a limit");
        assert_eq!(limit.conn_table_max_entries, 500_000);
    });
}
