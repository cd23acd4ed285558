//! The address of the node on the bridge of an uplink.

use super::decision::{Action, Decision};
use crate::engine::ovs::observe::observe_address;
use crate::engine::ovs::snapshot::OvsSnapshot;
use crate::model::underlay::UplinkAddress;
use usnet_crds::{BridgeName, UplinkName};

/// The bridge may be created by the same transaction, which has a guard.
pub(super) fn set<'a>(
    snapshot: &OvsSnapshot,
    uplink: &'a UplinkName,
    bridge: &'a BridgeName,
    address: Option<&'a UplinkAddress>,
) -> Decision<'a> {
    let found = snapshot.bridges.get(bridge.as_str()).and_then(|row| observe_address(snapshot, row));
    let found = found.filter(|(owner, _)| owner == uplink).map(|(_, found)| found);
    match (address, found) {
        (Some(address), Some(found)) if address.matches(&found) => Decision::NoOp,
        (None, None) => Decision::NoOp,
        _ => Decision::Apply(Action::SetAddress { uplink, bridge, address }),
    }
}
