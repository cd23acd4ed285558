//! The messages that the simulator does: all of the client's table. Those about VPP as a whole are done here.

use super::dispatch::{Failure, Handle, Handler, changing, listing, reading};
use super::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    AfPacketCreateV3, AfPacketDelete, AfPacketDump, BridgeDomainAddDel, BridgeDomainAddDelV2, BridgeDomainDump,
    BridgeDomainSetMacAge, BridgeFlags, CliInband, CliInbandReply, ControlPing, ControlPingReply,
    CreateLoopbackInstance, CreateVhostUserIfV2, DeleteLoopback, DeleteVhostUserIf, HwInterfaceSetMtu, L2FlagsGet,
    L2InterfaceEfpFilter, L2InterfaceVlanTagRewrite, MemifCreate, MemifCreateV2, MemifDelete, MemifDump,
    MemifSocketFilenameAddDel, MemifSocketFilenameAddDelV2, MemifSocketFilenameDump, PolicerAddDel, PolicerDump,
    PolicerInput, PolicerOutput, ShowVersion, ShowVersionReply, SwInterfaceDump, SwInterfaceSetFlags,
    SwInterfaceSetL2Bridge, SwInterfaceSetMtu, SwInterfaceTagAddDel, SwInterfaceVhostUserDump, WantInterfaceEvents,
    WantInterfaceEventsReply,
};
use usnet_vpp::wire::FixedText;

/// What does each message.
pub(super) static HANDLERS: &[Handler] = &[
    reading::<ControlPing>(),
    reading::<ShowVersion>(),
    reading::<CliInband>(),
    reading::<WantInterfaceEvents>(),
    listing::<SwInterfaceDump>(),
    listing::<BridgeDomainDump>(),
    listing::<MemifDump>(),
    listing::<MemifSocketFilenameDump>(),
    listing::<SwInterfaceVhostUserDump>(),
    listing::<PolicerDump>(),
    listing::<AfPacketDump>(),
    reading::<L2FlagsGet>(),
    changing::<SwInterfaceSetFlags>(),
    changing::<HwInterfaceSetMtu>(),
    changing::<SwInterfaceSetMtu>(),
    changing::<SwInterfaceTagAddDel>(),
    changing::<L2InterfaceVlanTagRewrite>(),
    changing::<L2InterfaceEfpFilter>(),
    changing::<CreateLoopbackInstance>(),
    changing::<DeleteLoopback>(),
    changing::<BridgeDomainAddDel>(),
    changing::<BridgeDomainAddDelV2>(),
    changing::<BridgeFlags>(),
    changing::<BridgeDomainSetMacAge>(),
    changing::<SwInterfaceSetL2Bridge>(),
    changing::<MemifSocketFilenameAddDel>(),
    changing::<MemifSocketFilenameAddDelV2>(),
    changing::<MemifCreate>(),
    changing::<MemifCreateV2>(),
    changing::<MemifDelete>(),
    changing::<CreateVhostUserIfV2>(),
    changing::<DeleteVhostUserIf>(),
    changing::<AfPacketCreateV3>(),
    changing::<AfPacketDelete>(),
    changing::<PolicerAddDel>(),
    changing::<PolicerInput>(),
    changing::<PolicerOutput>(),
];

impl Handle for ControlPing {
    /// VPP leaves the client's index out.
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
    fn handle(&self, _state: &mut State) -> Result<CliInbandReply, Failure> {
        Ok(CliInbandReply::default())
    }
}

impl Handle for WantInterfaceEvents {
    /// Twice is refused, on and off alike.
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

#[cfg(test)]
mod tests {
    use super::HANDLERS;
    use usnet_vpp::messages;
    use usnet_vpp::wire::Header;

    #[test]
    fn every_message_of_the_table_is_done() {
        let asked = |name: &str| !name.starts_with("sockclnt_") && !name.ends_with("_reply");
        let requests =
            messages::all().filter(|message| message.header == Header::ClientAndContext && asked(message.name));
        let missing = requests.filter(|message| !HANDLERS.iter().any(|handler| handler.request == **message));
        assert_eq!(missing.map(|message| message.name).collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
