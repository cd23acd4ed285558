//! What is done to the frames of interfaces in bridge domains.

use super::dispatch::{Failure, Handle};
use super::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    L2FlagsGet, L2FlagsGetReply, L2InputFeatures, L2InterfaceEfpFilter, L2InterfaceEfpFilterReply, L2OutputFeatures,
    VtrOp,
};

/// What is done to the frames of one interface, as far as anybody asked for it. VPP forgets it when the interface leaves its bridge domain, and
/// only then.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Features {
    input: L2InputFeatures,
    output: L2OutputFeatures,
}

impl Features {
    pub(super) fn set_input(&mut self, feature: L2InputFeatures, is_set: bool) {
        self.input = L2InputFeatures(with(self.input.0, feature.0, is_set));
    }

    pub(super) fn set_output(&mut self, feature: L2OutputFeatures, is_set: bool) {
        self.output = L2OutputFeatures(with(self.output.0, feature.0, is_set));
    }
}

const fn with(bits: u32, bit: u32, is_set: bool) -> u32 {
    if is_set { bits | bit } else { bits & !bit }
}

impl Handle for L2InterfaceEfpFilter {
    fn handle(&self, state: &mut State) -> Result<L2InterfaceEfpFilterReply, Failure> {
        state.interface(self.sw_if_index)?;
        let features = state.features.entry(self.sw_if_index).or_default();
        features.set_output(L2OutputFeatures::EFP_FILTER, self.enable_disable);
        Ok(L2InterfaceEfpFilterReply::default())
    }
}

impl Handle for L2FlagsGet {
    fn handle(&self, state: &mut State) -> Result<L2FlagsGetReply, Failure> {
        if state.interface(self.sw_if_index)?.bridge.is_none() {
            return Err(ReturnCode::InvalidSwIfIndex.into());
        }
        let mut features = state.features.get(&self.sw_if_index).copied().unwrap_or_default();
        let is_rewritten = state.rewrite(self.sw_if_index).operation() != VtrOp::Disabled;
        features.set_input(L2InputFeatures::VTR, is_rewritten);
        let Features { input: input_feature_bitmap, output: output_feature_bitmap } = features;
        Ok(L2FlagsGetReply { retval: 0, input_feature_bitmap, output_feature_bitmap })
    }
}
