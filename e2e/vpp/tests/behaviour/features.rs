//! The L2 features of interfaces in bridge domains: how they are read, and when they are reset.

use crate::{Fixture, on_each};
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    L2FlagsGet, L2InputFeatures, L2InterfaceEfpFilter, L2InterfaceVlanTagRewrite, L2OutputFeatures,
    SwInterfaceSetL2Bridge, VtrOp,
};

impl Fixture {
    pub(crate) fn set_domain(&mut self, rx_sw_if_index: u32, bd_id: u32, enable: bool) {
        self.request(SwInterfaceSetL2Bridge { rx_sw_if_index, bd_id, enable, ..Default::default() })
            .expect("bridge domain");
    }

    /// Creates a memif in bridge domain 4.
    pub(crate) fn bridged(&mut self) -> u32 {
        let sw_if_index = self.create_memif(0, 0).expect("memif");
        self.set_domain(sw_if_index, 4, true);
        sw_if_index
    }

    pub(crate) fn features(&mut self, sw_if_index: u32) -> Result<(L2InputFeatures, L2OutputFeatures), ReturnCode> {
        let observed = self.request(L2FlagsGet { sw_if_index })?;
        Ok((observed.input_feature_bitmap, observed.output_feature_bitmap))
    }

    fn set_filter(&mut self, sw_if_index: u32, enable_disable: bool) {
        self.request(L2InterfaceEfpFilter { sw_if_index, enable_disable }).expect("filter");
    }

    fn is_filtered(&mut self, sw_if_index: u32) -> bool {
        let (_, output) = self.features(sw_if_index).expect("features");
        output.contains(L2OutputFeatures::EFP_FILTER)
    }
}

#[test]
fn features_are_listed_for_members_of_bridge_domains_only() {
    on_each(|vpp| {
        let sw_if_index = vpp.create_memif(0, 0).expect("memif");
        let refused = Err(ReturnCode::InvalidSwIfIndex);
        assert_eq!((vpp.features(sw_if_index), vpp.features(99)), (refused, refused));
        let filter = L2InterfaceEfpFilter { sw_if_index: 99, enable_disable: true };
        assert_eq!(vpp.request(filter).err(), Some(ReturnCode::InvalidSwIfIndex));
        vpp.set_domain(sw_if_index, 4, true);
        let (input, output) = vpp.features(sw_if_index).expect("features");
        assert!(!input.contains(L2InputFeatures::VTR) && !input.contains(L2InputFeatures::POLICER));
        assert!(!output.contains(L2OutputFeatures::EFP_FILTER) && !output.contains(L2OutputFeatures::POLICER));
        let push = L2InterfaceVlanTagRewrite { sw_if_index, vtr_op: VtrOp::Push1, push_dot1q: 1, tag1: 7, tag2: 0 };
        vpp.request(push).expect("rewrite");
        assert!(vpp.features(sw_if_index).expect("features").0.contains(L2InputFeatures::VTR));
    });
}

#[test]
fn a_filter_goes_when_its_interface_leaves_and_stays_when_it_moves() {
    on_each(|vpp| {
        let sw_if_index = vpp.bridged();
        for is_set in [true, true, false, false, true] {
            vpp.set_filter(sw_if_index, is_set);
            assert_eq!(vpp.is_filtered(sw_if_index), is_set);
        }
        vpp.set_domain(sw_if_index, 5, true);
        assert!(vpp.is_filtered(sw_if_index), "it moved");
        vpp.set_domain(sw_if_index, 5, false);
        vpp.set_domain(sw_if_index, 5, true);
        assert!(!vpp.is_filtered(sw_if_index), "it left and came back");
    });
}

#[test]
fn a_filter_goes_with_a_bridged_interface_and_is_inherited_from_any_other() {
    on_each(|vpp| {
        let sw_if_index = vpp.bridged();
        vpp.set_filter(sw_if_index, true);
        vpp.delete_memif(sw_if_index).expect("delete");
        assert_eq!(vpp.bridged(), sw_if_index);
        assert!(!vpp.is_filtered(sw_if_index));

        vpp.set_domain(sw_if_index, 4, false);
        vpp.set_filter(sw_if_index, true);
        vpp.delete_memif(sw_if_index).expect("delete");
        assert_eq!(vpp.bridged(), sw_if_index);
        assert!(vpp.is_filtered(sw_if_index), "it was in no bridge domain");
    });
}
