//! Plans an operation on an uplink, given a snapshot of the rows. Pure.

use super::decision::{Action, Decision, adoption_error, delete_bridge, foreign};
use crate::engine::error::OpError;
use crate::engine::ovs::observe::{observe_address, observe_bridge, observe_port};
use crate::engine::ovs::snapshot::OvsSnapshot;
use crate::engine::ovs::tags::{self, BridgeOwner};
use crate::model::observed::{Observed, ObservedPort};
use crate::model::owner::PortOwner;
use crate::model::port::PortName;
use crate::model::tagging::Tagging;
use crate::model::underlay::{Tunnel, UplinkAddress};
use crate::model::uplink::{PatchPair, PatchPort, UplinkBridge};
use crate::plan::{UplinkOp, is_connected, tunnel_matches, uplink_bridge_matches};
use usnet_crds::{BridgeName, EngineKind, UplinkName};
use usnet_ovsdb::Bridge;

/// Plans an operation on a snapshot of the rows. They may change before the transaction, which has
/// guards against that.
pub(super) fn plan<'a>(snapshot: &OvsSnapshot, operation: &'a UplinkOp) -> Decision<'a> {
    let apply = || Decision::Apply(Action::Uplink(operation));
    match operation {
        UplinkOp::CreateBridge { uplink, bridge } => match snapshot.bridges.get(bridge.as_str()) {
            Some(row) if tags::uplink(&row.external_ids).as_ref() == Some(uplink) => Decision::NoOp,
            Some(_) => foreign(format!("bridge {bridge}")),
            None if is_taken(snapshot, bridge.as_str()) => foreign(format!("port {bridge}")),
            None => apply(),
        },
        UplinkOp::RestoreBridge { uplink, bridge } => match bridge_of(snapshot, bridge.as_str(), uplink) {
            Ok(row) if uplink_bridge_matches(&observe_bridge(snapshot, row)) => Decision::NoOp,
            Ok(_) => apply(),
            Err(error) => Decision::Reject(error),
        },
        UplinkOp::RemoveBridge { uplink, bridge } => match bridge_of(snapshot, bridge, uplink) {
            Ok(row) => delete_bridge(snapshot, (bridge, row), BridgeOwner::Uplink(uplink)),
            Err(OpError::BridgeMissing { .. }) => Decision::NoOp,
            Err(error) => Decision::Reject(error),
        },
        UplinkOp::JoinNic { bridge: None, .. } => Decision::Reject(of_other_engine(operation)),
        UplinkOp::JoinNic { uplink, nic, bridge: Some(UplinkBridge { vlans, .. }) } => {
            let (name, owner) = (PortName::from(&nic.device), PortOwner::of_nic(uplink, nic.index));
            match observed_owner(snapshot, &name) {
                Port::Absent => apply(),
                Port::Foreign => foreign(format!("port {name}")),
                Port::Owned(found) if found == owner => set_vlans(snapshot, &name, &vlans.tagging(), apply),
                Port::Owned(found) => differs(name, &found),
            }
        }
        UplinkOp::SetVlans { uplink, index, port, vlans } => match observed_owner(snapshot, port) {
            Port::Owned(found) if found == PortOwner::of_nic(uplink, *index) => {
                set_vlans(snapshot, port, &vlans.tagging(), apply)
            }
            _ => Decision::Reject(OpError::PortMissing { port: port.clone() }),
        },
        UplinkOp::Connect { pair: PatchPair { uplink_end: None, .. } } => Decision::Reject(of_other_engine(operation)),
        UplinkOp::Connect { pair } => connect(snapshot, pair, apply),
        UplinkOp::SetAddress { bridge: None, .. } => Decision::Reject(of_other_engine(operation)),
        UplinkOp::SetAddress { uplink, bridge: Some(bridge), address } => {
            set_address(snapshot, (uplink, bridge), address.as_ref(), apply)
        }
        UplinkOp::CreateTunnel { tunnel } => create_tunnel(snapshot, tunnel, apply),
    }
}

/// The bridge may be created by the same transaction, which has a guard.
fn set_address<'a>(
    snapshot: &OvsSnapshot,
    (uplink, bridge): (&UplinkName, &BridgeName),
    address: Option<&UplinkAddress>,
    apply: impl FnOnce() -> Decision<'a>,
) -> Decision<'a> {
    let found = snapshot.bridges.get(bridge.as_str()).and_then(|row| observe_address(snapshot, row));
    let found = found.filter(|(owner, _)| owner == uplink).map(|(_, found)| found);
    match (address, found) {
        (Some(address), Some(found)) if address.matches(&found) => Decision::NoOp,
        (None, None) => Decision::NoOp,
        _ => apply(),
    }
}

fn create_tunnel<'a>(snapshot: &OvsSnapshot, tunnel: &Tunnel, apply: impl FnOnce() -> Decision<'a>) -> Decision<'a> {
    match observed_port(snapshot, &tunnel.name) {
        None if is_taken(snapshot, tunnel.name.as_str()) => foreign(format!("interface {}", tunnel.name)),
        None => apply(),
        Some(ObservedPort { owner: None, .. }) => foreign(format!("port {}", tunnel.name)),
        Some(found) if tunnel_matches(&found, tunnel) && is_on_bridge(snapshot, tunnel) => Decision::NoOp,
        Some(ObservedPort { owner: Some(owner), .. }) => differs(tunnel.name.clone(), &owner),
    }
}

fn observed_port(snapshot: &OvsSnapshot, name: &PortName) -> Option<ObservedPort> {
    snapshot.port(name.as_str()).map(|row| observe_port(snapshot, row))
}

fn is_on_bridge(snapshot: &OvsSnapshot, Tunnel { name, bridge, .. }: &Tunnel) -> bool {
    let ports = snapshot.bridges.get(bridge.as_str()).into_iter().flat_map(|bridge| snapshot.ports_of(bridge));
    ports.into_iter().any(|port| port.name == name.as_str())
}

/// Open vSwitch has a bridge for each uplink.
fn of_other_engine(operation: &UplinkOp) -> OpError {
    OpError::Refused {
        what: operation.to_string(),
        reason: format!("{} needs a bridge for it", EngineKind::OpenVswitch),
    }
}

/// What has the name of a port.
enum Port {
    Absent,
    Foreign,
    Owned(PortOwner),
}

fn observed_owner(snapshot: &OvsSnapshot, name: &PortName) -> Port {
    match snapshot.port(name.as_str()).map(|row| observe_port(snapshot, row).owner) {
        None if is_taken(snapshot, name.as_str()) => Port::Foreign,
        None => Port::Absent,
        Some(None) => Port::Foreign,
        Some(Some(owner)) => Port::Owned(owner),
    }
}

fn is_taken(snapshot: &OvsSnapshot, name: &str) -> bool {
    snapshot.port(name).is_some() || snapshot.interface(name).is_some()
}

/// The bridge of an uplink.
fn bridge_of<'a>(snapshot: &'a OvsSnapshot, name: &str, uplink: &UplinkName) -> Result<&'a Bridge, OpError> {
    match snapshot.bridges.get(name) {
        None => Err(OpError::BridgeMissing { bridge: name.to_owned() }),
        Some(row) if tags::uplink(&row.external_ids).as_ref() == Some(uplink) => Ok(row),
        Some(_) => Err(OpError::Foreign { what: format!("bridge {name}") }),
    }
}

fn set_vlans<'a>(
    snapshot: &OvsSnapshot,
    port: &PortName,
    tagging: &Tagging,
    apply: impl FnOnce() -> Decision<'a>,
) -> Decision<'a> {
    let is_set = snapshot.port(port.as_str()).is_some_and(|row| observe_port(snapshot, row).tagging == *tagging);
    if is_set { Decision::NoOp } else { apply() }
}

/// A pair of which one port is missing or differs is removed by operations of its own.
fn connect<'a>(snapshot: &OvsSnapshot, pair: &PatchPair, apply: impl FnOnce() -> Decision<'a>) -> Decision<'a> {
    if let Some(error) = adoption_error(snapshot, (&pair.bridge, pair.ownership), &pair.network) {
        return Decision::Reject(error);
    }
    let mut owners = pair.ports().map(|(PatchPort { name, .. }, _)| (name, observed_owner(snapshot, name)));
    match owners.find(|(_, port)| !matches!(port, Port::Absent)) {
        None => apply(),
        Some(_) if is_connected(pair, &observed(snapshot, pair)) => Decision::NoOp,
        Some((name, Port::Owned(owner))) => differs(name.clone(), &owner),
        Some((name, _)) => foreign(format!("port {name}")),
    }
}

/// Both bridges of a pair.
fn observed(snapshot: &OvsSnapshot, pair: &PatchPair) -> Observed {
    let bridges = pair.ports().filter_map(|(PatchPort { bridge, .. }, _)| {
        let row = snapshot.bridges.get(bridge.as_str())?;
        Some((bridge.to_string(), observe_bridge(snapshot, row)))
    });
    Observed { bridges: bridges.collect(), ..Observed::default() }
}

fn differs<'a>(port: PortName, owner: &PortOwner) -> Decision<'a> {
    let found = format!("it is of {} and has other settings or is on another bridge", owner.owner);
    Decision::Reject(OpError::PortDiffers { port, found })
}
