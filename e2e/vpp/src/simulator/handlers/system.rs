//! The messages about VPP as a whole.

use crate::simulator::handlers::dispatch::{Failure, Handle};
use crate::simulator::model::bridge_domains::BridgeDomain;
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    CliInband, CliInbandReply, ControlPing, ControlPingReply, ShowVersion, ShowVersionReply, WantInterfaceEvents,
    WantInterfaceEventsReply,
};
use usnet_vpp::wire::{FixedText, Text};

impl Handle for ControlPing {
    /// VPP does not fill in the client's index.
    fn handle(&self, _state: &mut State) -> Result<ControlPingReply, Failure> {
        Ok(ControlPingReply { retval: 0, client_index: 0, vpe_pid: std::process::id() })
    }
}

impl Handle for ShowVersion {
    fn handle(&self, _state: &mut State) -> Result<ShowVersionReply, Failure> {
        // These texts are shorter than their fields.
        let version = FixedText::new("26.06-simulator").unwrap_or_default();
        let program = FixedText::new("vpe").unwrap_or_default();
        Ok(ShowVersionReply { program, version, ..ShowVersionReply::default() })
    }
}

impl Handle for CliInband {
    fn handle(&self, state: &mut State) -> Result<CliInbandReply, Failure> {
        if self.cmd.as_str() == "show acl-plugin sessions" {
            // No packet adds one.
            return Ok(CliInbandReply { retval: 0, reply: Text::from("Sessions total: add 0 - del 0 = 0\n") });
        }
        let Some(id) = self.cmd.as_str().strip_prefix("show bridge-domain") else {
            return Ok(CliInbandReply::default());
        };
        let only = id.trim().parse().ok();
        if only.is_some_and(|id| !state.bridges.0.contains_key(&id)) {
            return Err(ReturnCode::Unspecified.into());
        }
        Ok(CliInbandReply { retval: 0, reply: Text::from(bridge_domains(state, only)) })
    }
}

/// Prints the columns of VPP that the driver reads, and one more.
fn bridge_domains(state: &State, only: Option<u32>) -> String {
    let line = |(id, domain): (&u32, &BridgeDomain)| format!("{id:^8} {:^8} {:^8} \n", 0, domain.learn_limit);
    let lines = state.bridges.0.iter().filter(|(id, _)| **id != 0 && only.is_none_or(|only| only == **id)).map(line);
    std::iter::once(" BD-ID   Learn-count Learn-limit\n".to_owned()).chain(lines).collect()
}

impl Handle for WantInterfaceEvents {
    /// A repeated subscription is refused, and so is a repeated cancellation.
    fn handle(&self, state: &mut State) -> Result<WantInterfaceEventsReply, Failure> {
        let subscribed = state.subscribers.contains_key(&state.caller);
        if subscribed == (self.enable_disable != 0) {
            return Err(ReturnCode::InvalidRegistration.into());
        }
        if subscribed {
            state.subscribers.remove(&state.caller);
        } else {
            state.subscribers.insert(state.caller, self.pid);
        }
        Ok(WantInterfaceEventsReply::default())
    }
}
