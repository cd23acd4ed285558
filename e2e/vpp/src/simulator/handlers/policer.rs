//! Rate limits: policers by name, and the interfaces that use them.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    L2InputFeatures, L2OutputFeatures, PolicerAddDel, PolicerAddDelReply, PolicerDetails, PolicerDump, PolicerInput,
    PolicerInputReply, PolicerOutput, PolicerOutputReply, PolicerType,
};
use usnet_vpp::wire::FixedText;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
enum Direction {
    In,
    Out,
}

impl State {
    fn apply_policer(
        &mut self,
        direction: Direction,
        name: &FixedText<64>,
        sw_if_index: u32,
        apply: bool,
    ) -> Result<(), Failure> {
        self.interface(sw_if_index)?;
        self.policers.index(name).ok_or(ReturnCode::NoSuchEntry)?;
        let [used_in, used_out] = &mut self.policers.was_used;
        let was_used = match direction {
            Direction::In => used_in,
            Direction::Out => used_out,
        };
        if !apply && !*was_used {
            return Err(Failure::Fatal);
        }
        *was_used = true;
        let features = self.features.entry(sw_if_index).or_default();
        match direction {
            Direction::In => features.set_input(L2InputFeatures::POLICER, apply),
            Direction::Out => features.set_output(L2OutputFeatures::POLICER, apply),
        }
        Ok(())
    }
}

impl Handle for PolicerAddDel {
    fn handle(&self, state: &mut State) -> Result<PolicerAddDelReply, Failure> {
        let found = state.policers.index(&self.name);
        let policer_index = match (self.is_add, found) {
            (true, Some(_)) => Err(ReturnCode::ValueExist),
            (true, None) if !is_sound(self) => Err(ReturnCode::InvalidValue),
            (true, None) => Ok(state.policers.policers.insert(self.clone())),
            (false, None) => Err(ReturnCode::NoSuchEntry),
            (false, Some(index)) => {
                state.policers.policers.remove(index);
                Ok(NONE)
            }
        };
        let retval = policer_index.err().map_or(0, ReturnCode::number);
        Ok(PolicerAddDelReply { retval, policer_index: policer_index.unwrap_or(NONE) })
    }
}

/// VPP's checks of a policer's numbers.
fn is_sound(policer: &PolicerAddDel) -> bool {
    let has_rate = policer.cir > 0 || policer.cb == 0;
    let is_simple = policer.r#type != PolicerType::OneRateTwoColour || (policer.eir == 0 && policer.eb == 0);
    has_rate && is_simple && !matches!(policer.r#type, PolicerType::Other(_))
}

impl Handle for PolicerInput {
    fn handle(&self, state: &mut State) -> Result<PolicerInputReply, Failure> {
        state.apply_policer(Direction::In, &self.name, self.sw_if_index, self.apply)?;
        Ok(PolicerInputReply::default())
    }
}

impl Handle for PolicerOutput {
    fn handle(&self, state: &mut State) -> Result<PolicerOutputReply, Failure> {
        state.apply_policer(Direction::Out, &self.name, self.sw_if_index, self.apply)?;
        Ok(PolicerOutputReply::default())
    }
}

impl List for PolicerDump {
    /// Tokens and buckets are not simulated.
    fn list(&self, state: &State) -> Vec<PolicerDetails> {
        let all = state.policers.policers.iter().map(|(_, policer)| policer);
        let requested = all.filter(|policer| !self.match_name_valid || policer.name == self.match_name);
        let details = |policer: &PolicerAddDel| PolicerDetails {
            name: policer.name.clone(),
            cir: policer.cir,
            eir: policer.eir,
            cb: policer.cb,
            eb: policer.eb,
            rate_type: policer.rate_type,
            round_type: policer.round_type,
            r#type: policer.r#type,
            conform_action: policer.conform_action.clone(),
            exceed_action: policer.exceed_action.clone(),
            violate_action: policer.violate_action.clone(),
            single_rate: true,
            color_aware: policer.color_aware,
            ..PolicerDetails::default()
        };
        requested.map(details).collect()
    }
}
