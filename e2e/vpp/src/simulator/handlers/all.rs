//! The messages that the simulator handles, which are all of the client's table.

use crate::simulator::handlers::dispatch::{Handler, changing, listing, reading, streaming};
use usnet_vpp::messages::{
    AclAddReplace, AclDel, AclDump, AclInterfaceEtypeWhitelistDump, AclInterfaceListDump, AclInterfaceSetAclList,
    AclInterfaceSetEtypeWhitelist, AclPluginGetConnTableMaxEntries, AfPacketCreateV3, AfPacketDelete, AfPacketDump,
    BridgeDomainAddDel, BridgeDomainAddDelV2, BridgeDomainDump, BridgeDomainSetLearnLimit, BridgeDomainSetMacAge,
    BridgeFlags, ClassifyAddDelSession, ClassifyAddDelTable, ClassifySessionDump, ClassifyTableByInterface,
    ClassifyTableIds, ClassifyTableInfo, CliInband, ControlPing, CreateLoopbackInstance, CreateSubif,
    CreateVhostUserIfV2, DeleteLoopback, DeleteSubif, DeleteVhostUserIf, HwInterfaceSetMtu, InputAclSetInterface,
    IpAddressDump, IpNeighborAddDel, IpNeighborConfig, IpNeighborConfigGet, IpNeighborDump, IpRouteAddDel, IpRouteDump,
    IpTableAddDel, IpTableDump, IpUnnumberedDump, L2FibTableDump, L2Flags, L2FlagsGet, L2InterfaceEfpFilter,
    L2InterfaceVlanTagRewrite, MemifCreate, MemifCreateV2, MemifDelete, MemifDump, MemifSocketFilenameAddDel,
    MemifSocketFilenameAddDelV2, MemifSocketFilenameDump, PolicerAddDel, PolicerDump, PolicerInput, PolicerOutput,
    ShowVersion, SwInterfaceAddDelAddress, SwInterfaceDump, SwInterfaceGetTable, SwInterfaceRxPlacementDump,
    SwInterfaceSetFlags, SwInterfaceSetL2Bridge, SwInterfaceSetMacAddress, SwInterfaceSetMtu, SwInterfaceSetRxMode,
    SwInterfaceSetTable, SwInterfaceSetTxPlacement, SwInterfaceSetUnnumbered, SwInterfaceSpanDump,
    SwInterfaceSpanEnableDisable, SwInterfaceTagAddDel, SwInterfaceTapV2Dump, SwInterfaceTxPlacementGet,
    SwInterfaceVhostUserDump, TapCreateV3, TapDeleteV2, VxlanAddDelTunnelV3, VxlanTunnelV2Dump, WantInterfaceEvents,
};

/// The handler of each message.
pub(crate) static HANDLERS: &[Handler] = &[
    reading::<ControlPing>(),
    reading::<ShowVersion>(),
    reading::<CliInband>(),
    reading::<WantInterfaceEvents>(),
    listing::<SwInterfaceDump>(),
    listing::<BridgeDomainDump>(),
    listing::<L2FibTableDump>(),
    listing::<MemifDump>(),
    listing::<MemifSocketFilenameDump>(),
    listing::<SwInterfaceVhostUserDump>(),
    listing::<PolicerDump>(),
    listing::<AfPacketDump>(),
    listing::<IpTableDump>(),
    listing::<IpAddressDump>(),
    listing::<IpRouteDump>(),
    listing::<IpUnnumberedDump>(),
    reading::<SwInterfaceGetTable>(),
    reading::<L2FlagsGet>(),
    reading::<L2Flags>(),
    changing::<ClassifyAddDelTable>(),
    changing::<ClassifyAddDelSession>(),
    listing::<ClassifySessionDump>(),
    reading::<ClassifyTableByInterface>(),
    reading::<ClassifyTableIds>(),
    reading::<ClassifyTableInfo>(),
    changing::<InputAclSetInterface>(),
    changing::<AclAddReplace>(),
    changing::<AclDel>(),
    changing::<AclInterfaceSetAclList>(),
    changing::<AclInterfaceSetEtypeWhitelist>(),
    reading::<AclPluginGetConnTableMaxEntries>(),
    listing::<AclDump>(),
    listing::<AclInterfaceListDump>(),
    listing::<AclInterfaceEtypeWhitelistDump>(),
    changing::<SwInterfaceSetFlags>(),
    changing::<HwInterfaceSetMtu>(),
    changing::<SwInterfaceSetMtu>(),
    changing::<SwInterfaceTagAddDel>(),
    changing::<L2InterfaceVlanTagRewrite>(),
    changing::<L2InterfaceEfpFilter>(),
    changing::<SwInterfaceAddDelAddress>(),
    changing::<SwInterfaceSetTable>(),
    changing::<SwInterfaceSetMacAddress>(),
    changing::<IpTableAddDel>(),
    changing::<IpNeighborAddDel>(),
    changing::<IpNeighborConfig>(),
    reading::<IpNeighborConfigGet>(),
    listing::<IpNeighborDump>(),
    changing::<IpRouteAddDel>(),
    changing::<SwInterfaceSetUnnumbered>(),
    changing::<CreateLoopbackInstance>(),
    changing::<DeleteLoopback>(),
    changing::<CreateSubif>(),
    changing::<DeleteSubif>(),
    changing::<BridgeDomainAddDel>(),
    changing::<BridgeDomainAddDelV2>(),
    changing::<BridgeFlags>(),
    changing::<BridgeDomainSetMacAge>(),
    changing::<BridgeDomainSetLearnLimit>(),
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
    listing::<VxlanTunnelV2Dump>(),
    changing::<VxlanAddDelTunnelV3>(),
    changing::<PolicerAddDel>(),
    changing::<PolicerInput>(),
    changing::<PolicerOutput>(),
    changing::<SwInterfaceSetRxMode>(),
    changing::<SwInterfaceSetTxPlacement>(),
    listing::<SwInterfaceRxPlacementDump>(),
    streaming::<SwInterfaceTxPlacementGet>(),
    changing::<TapCreateV3>(),
    changing::<TapDeleteV2>(),
    listing::<SwInterfaceTapV2Dump>(),
    listing::<SwInterfaceSpanDump>(),
    changing::<SwInterfaceSpanEnableDisable>(),
];

#[cfg(test)]
mod tests {
    use super::HANDLERS;
    use usnet_vpp::messages;
    use usnet_vpp::wire::Header;

    #[test]
    fn every_message_of_the_table_is_done() {
        let is_request =
            |name: &str| !name.starts_with("sockclnt_") && !name.ends_with("_reply") && !name.ends_with("_details");
        let requests =
            messages::all().filter(|message| message.header == Header::ClientAndContext && is_request(message.name));
        let missing = requests.filter(|message| !HANDLERS.iter().any(|handler| handler.request == **message));
        assert_eq!(missing.map(|message| message.name).collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
