//! Rate limits. VPP 26.06 has them in a plugin; the tests are skipped on a real VPP without it.

use crate::{Fixture, on_each};
use usnet_test_vpp::Kind;
use usnet_vpp::messages::{
    L2InputFeatures, L2OutputFeatures, PolicerAction, PolicerActionType, PolicerAddDel, PolicerDetails, PolicerDump,
    PolicerInput, PolicerOutput, PolicerType,
};
use usnet_vpp::wire::FixedText;
use usnet_vpp::{Api, ReturnCode};

fn on_each_with_policers(check: impl Fn(&mut Fixture)) {
    on_each(|vpp| {
        if vpp.client.supports::<PolicerInput>() {
            return check(vpp);
        }
        Kind::note_missing_plugin("policer_plugin.so");
    });
}

fn name(name: &str) -> FixedText<64> {
    FixedText::new(name).expect("a short name")
}

/// Packets beyond the rate are dropped.
fn policer(policer: &str, cir: u32) -> PolicerAddDel {
    let conform_action = PolicerAction { r#type: PolicerActionType::Transmit, dscp: 0 };
    PolicerAddDel { is_add: true, name: name(policer), cir, cb: 10_000, conform_action, ..Default::default() }
}

impl Fixture {
    fn add_policer(&mut self, policer: PolicerAddDel) -> Result<u32, ReturnCode> {
        self.request(policer).map(|reply| reply.policer_index)
    }

    fn delete_policer(&mut self, policer: &str) -> Result<(), ReturnCode> {
        self.request(PolicerAddDel { name: name(policer), ..Default::default() }).map(drop)
    }

    fn policers(&mut self) -> Vec<PolicerDetails> {
        self.dump(PolicerDump::default())
    }

    fn police_input(&mut self, policer: &str, sw_if_index: u32, apply: bool) -> Result<(), ReturnCode> {
        self.request(PolicerInput { name: name(policer), sw_if_index, apply }).map(drop)
    }

    fn police_output(&mut self, policer: &str, sw_if_index: u32, apply: bool) -> Result<(), ReturnCode> {
        self.request(PolicerOutput { name: name(policer), sw_if_index, apply }).map(drop)
    }

    /// Whether input and output are policed.
    fn is_policed(&mut self, sw_if_index: u32) -> (bool, bool) {
        let (input, output) = self.features(sw_if_index).expect("features");
        (input.contains(L2InputFeatures::POLICER), output.contains(L2OutputFeatures::POLICER))
    }
}

#[test]
fn a_policer_is_made_once_by_its_name_and_read_back() {
    on_each_with_policers(|vpp| {
        let longest = "n".repeat(63);
        assert_eq!(vpp.add_policer(policer(&longest, 1000)), Ok(0));
        assert_eq!(vpp.add_policer(policer(&longest, 2000)), Err(ReturnCode::ValueExist));
        assert_eq!(vpp.add_policer(policer("b", 7)), Ok(1));
        let observed = vpp.policers();
        let rates: Vec<_> = observed.iter().map(|policer| (policer.name.as_str(), policer.cir, policer.cb)).collect();
        assert_eq!(rates, [(longest.as_str(), 1000, 10_000), ("b", 7, 10_000)]);
        let [first, _] = observed.as_slice() else { panic!("two policers") };
        let actions = [&first.conform_action, &first.exceed_action, &first.violate_action].map(|action| action.r#type);
        let expected = [PolicerActionType::Transmit, PolicerActionType::Drop, PolicerActionType::Drop];
        assert_eq!((actions, first.r#type), (expected, PolicerType::OneRateTwoColour));

        assert_eq!(vpp.delete_policer(&longest), Ok(()));
        assert_eq!(vpp.delete_policer(&longest), Err(ReturnCode::NoSuchEntry));
        assert_eq!(vpp.add_policer(policer("c", 7)), Ok(0), "the index that was freed last");
        let only_c = PolicerDump { match_name_valid: true, match_name: name("c") };
        assert_eq!((vpp.dump(only_c).len(), vpp.policers().len()), (1, 2));
    });
}

#[test]
fn numbers_that_are_refused_and_the_widest_that_are_not() {
    on_each_with_policers(|vpp| {
        let good = policer("a", 1000);
        for bad in [
            PolicerAddDel { eir: 1, ..good.clone() },
            PolicerAddDel { eb: 1, ..good.clone() },
            PolicerAddDel { cir: 0, ..good.clone() },
        ] {
            assert_eq!(vpp.add_policer(bad.clone()), Err(ReturnCode::InvalidValue), "{bad:?}");
        }
        for (cir, cb) in [(1, 10_000), (1, 1_000_000), (400_000_000, 10_000), (1_000_000_000, 12_500_000_000)] {
            assert_eq!(vpp.add_policer(PolicerAddDel { cir, cb, ..good.clone() }), Ok(0), "{cir} {cb}");
            assert_eq!(vpp.delete_policer("a"), Ok(()));
        }
    });
}

#[test]
fn whether_a_member_of_a_bridge_domain_is_policed_can_be_read() {
    on_each_with_policers(|vpp| {
        let sw_if_index = vpp.bridged();
        assert_eq!(vpp.police_input("a", sw_if_index, true), Err(ReturnCode::NoSuchEntry));
        vpp.add_policer(policer("a", 1000)).expect("policer");
        assert_eq!(vpp.police_input("a", 99, true), Err(ReturnCode::InvalidSwIfIndex));
        assert_eq!(vpp.is_policed(sw_if_index), (false, false));
        for _ in 0..2 {
            vpp.police_input("a", sw_if_index, true).expect("in");
            assert_eq!(vpp.is_policed(sw_if_index), (true, false));
        }
        vpp.police_output("a", sw_if_index, true).expect("out");
        assert_eq!(vpp.is_policed(sw_if_index), (true, true));
        for _ in 0..2 {
            vpp.police_input("a", sw_if_index, false).expect("in");
            assert_eq!(vpp.is_policed(sw_if_index), (false, true));
        }
        vpp.delete_policer("a").expect("delete");
        assert_eq!(vpp.is_policed(sw_if_index), (false, true), "a policer that is gone");
    });
}

#[test]
fn a_limit_goes_when_its_interface_leaves_and_stays_when_it_moves() {
    on_each_with_policers(|vpp| {
        let sw_if_index = vpp.bridged();
        vpp.add_policer(policer("a", 1000)).expect("policer");
        vpp.police_input("a", sw_if_index, true).expect("in");
        vpp.police_output("a", sw_if_index, true).expect("out");
        vpp.set_domain(sw_if_index, 5, true);
        assert_eq!(vpp.is_policed(sw_if_index), (true, true), "it moved");
        vpp.set_domain(sw_if_index, 5, false);
        vpp.set_domain(sw_if_index, 5, true);
        assert_eq!(vpp.is_policed(sw_if_index), (false, false), "it left and came back");
        assert_eq!(vpp.policers().len(), 1, "a policer does not go with what used it");
    });
}

#[test]
fn ending_a_limit_in_a_direction_in_which_none_ever_was_ends_vpp() {
    on_each_with_policers(|vpp| {
        let sw_if_index = vpp.bridged();
        vpp.add_policer(policer("a", 1000)).expect("policer");
        vpp.police_input("a", sw_if_index, true).expect("in");
        vpp.police_input("a", sw_if_index, false).expect("in");
        vpp.request_fatal(PolicerOutput { name: name("a"), sw_if_index, apply: false });
    });
}
