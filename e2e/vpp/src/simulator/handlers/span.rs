//! Mirrored interfaces (SPAN). The simulator moves no frames.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    NO_INTERFACE, SpanState, SwInterfaceSpanDetails, SwInterfaceSpanDump, SwInterfaceSpanEnableDisable,
    SwInterfaceSpanEnableDisableReply,
};

impl Handle for SwInterfaceSpanEnableDisable {
    /// VPP does not check that the interfaces exist.
    fn handle(&self, state: &mut State) -> Result<SwInterfaceSpanEnableDisableReply, Failure> {
        let Self { sw_if_index_from: from, sw_if_index_to: to, is_l2, .. } = *self;
        let is_off = self.state == SpanState::Disabled;
        if from == NO_INTERFACE || from == to || (to == NO_INTERFACE && !is_off) {
            return Err(ReturnCode::InvalidInterface.into());
        }
        if to == NO_INTERFACE {
            state.spans.retain(|(source, _, of_l2), _| *source != from || *of_l2 != is_l2);
        } else if is_off {
            state.spans.remove(&(from, to, is_l2));
        } else {
            state.spans.insert((from, to, is_l2), self.state);
        }
        Ok(SwInterfaceSpanEnableDisableReply::default())
    }
}

impl List for SwInterfaceSpanDump {
    fn list(&self, state: &State) -> Vec<SwInterfaceSpanDetails> {
        let wanted = state.spans.iter().filter(|((_, _, is_l2), _)| *is_l2 == self.is_l2);
        let details = |(&(sw_if_index_from, sw_if_index_to, is_l2), &state): (&(u32, u32, bool), &SpanState)| {
            SwInterfaceSpanDetails { sw_if_index_from, sw_if_index_to, state, is_l2 }
        };
        wanted.map(details).collect()
    }
}
