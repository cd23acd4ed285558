//! The L2 features of interfaces in bridge domains.

use crate::simulator::handlers::dispatch::{Failure, Handle};
use crate::simulator::model::features::Features;
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    L2FlagsGet, L2FlagsGetReply, L2InputFeatures, L2InterfaceEfpFilter, L2InterfaceEfpFilterReply, L2OutputFeatures,
    VtrOp,
};

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
        let is_rewritten = state.rewrite(self.sw_if_index).operation != VtrOp::Disabled;
        features.set_input(L2InputFeatures::VTR, is_rewritten);
        let Features { input: input_feature_bitmap, output: output_feature_bitmap } = features;
        Ok(L2FlagsGetReply { retval: 0, input_feature_bitmap, output_feature_bitmap })
    }
}
