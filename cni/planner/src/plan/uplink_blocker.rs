//! What is in the way of an uplink.

use crate::model::desired::Desired;
use crate::model::observed::{Observed, ObservedBridge, ObservedPort};
use crate::model::port::PortName;
use crate::model::uplink::DesiredUplink;
use std::collections::BTreeMap;
use usnet_crds::UplinkName;

/// What prevents an uplink from having its bridge or NIC, and requires operator action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UplinkBlocker {
    /// A bridge or port of the bridge's name is there and is not the uplink's.
    BridgeExists { bridge: String },
    /// Something else in the engine has the NIC.
    NicTaken { nic: PortName, holder: String },
}

/// The uplinks that [`plan`](super::plan()) cannot converge, and why.
pub fn uplink_blockers(desired: &Desired, observed: &Observed) -> BTreeMap<UplinkName, UplinkBlocker> {
    let blocked = desired.uplinks.values().filter_map(|uplink| Some((uplink.name.clone(), blocker(uplink, observed)?)));
    blocked.collect()
}

fn blocker(uplink: &DesiredUplink, observed: &Observed) -> Option<UplinkBlocker> {
    if let Some(bridge) = taken_bridge(uplink, observed) {
        return Some(UplinkBlocker::BridgeExists { bridge });
    }
    let nic = uplink.nic.as_ref()?;
    let port = nic.name.clone();
    if let Some(interface) = nic.backend.device().and_then(|device| observed.taken_devices.get(device)) {
        return Some(UplinkBlocker::NicTaken { nic: port, holder: format!("interface {interface} of the engine") });
    }
    let is_of_others = |port: &ObservedPort| !port.owner.as_ref().is_some_and(|owner| uplink.has(owner));
    // A NIC of others has the name of its interface.
    let names = nic.backend.interface_names(&port).into_iter().map(PortName::observed).chain([port.clone()]);
    names.into_iter().find_map(|name| {
        let is_taken = |bridge: &ObservedBridge| bridge.ports.get(&name).is_some_and(is_of_others);
        let (bridge, _) = observed.bridges.iter().find(|(_, bridge)| is_taken(bridge))?;
        Some(UplinkBlocker::NicTaken { nic: name, holder: format!("bridge {bridge}") })
    })
}

/// The name of its bridge, if something else has it.
fn taken_bridge(uplink: &DesiredUplink, observed: &Observed) -> Option<String> {
    let name = uplink.bridge.as_ref()?.name.as_str();
    let is_taken = match observed.bridges.get(name) {
        Some(bridge) => bridge.uplink() != Some(&uplink.name),
        None => observed.bridges.values().flat_map(|bridge| bridge.ports.keys()).any(|port| port.as_str() == name),
    };
    is_taken.then(|| name.to_owned())
}
