//! What has to go, and what is left when it is gone.

use super::Op;
use crate::desired::{Desired, DesiredAttachment};
use crate::observed::{Observed, ObservedBridge, ObservedPort};
use crate::port::PortName;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::NetworkName;

/// What is left when the removals of a plan are done.
pub(super) struct Remaining<'a> {
    /// By name.
    pub(super) bridges: BTreeMap<&'a str, &'a ObservedBridge>,
    /// By bridge and name.
    pub(super) ports: BTreeMap<(&'a str, &'a PortName), &'a ObservedPort>,
    /// Names that are taken. Bridges and ports share them, because each bridge has a port of its own name.
    pub(super) names: BTreeSet<&'a str>,
}

/// Ports go first, so that bridges are empty.
pub(super) fn removals<'a>(desired: &Desired, observed: &'a Observed) -> (Vec<Op>, Remaining<'a>) {
    let wanted: BTreeMap<String, &DesiredAttachment> =
        desired.attachments.iter().map(|(id, attachment)| (id.to_string(), attachment)).collect();
    let in_use: BTreeSet<(&str, &NetworkName)> =
        desired.attachments.values().map(|attachment| (attachment.port.bridge.as_str(), &attachment.network)).collect();
    let on_two_bridges = on_two_bridges(observed);
    let mut left = Remaining { bridges: BTreeMap::new(), ports: BTreeMap::new(), names: BTreeSet::new() };
    let (mut ports, mut bridges) = (Vec::new(), Vec::new());
    for (bridge, shown) in &observed.bridges {
        let mut has_ports = false;
        for (name, port) in &shown.ports {
            match &port.mark {
                Some(mark)
                    if on_two_bridges.contains(name)
                        || !port_stays(wanted.get(&mark.attachment).copied(), bridge, name, port) =>
                {
                    ports.push(Op::RemovePort { bridge: bridge.clone(), port: name.clone(), mark: mark.clone() });
                }
                _ => {
                    has_ports = true;
                    left.ports.insert((bridge, name), port);
                    left.names.insert(name.as_str());
                }
            }
        }
        match &shown.mark {
            // One of our bridges goes when no network wants it, nobody is or will be attached to it, and no foreign port is on it.
            Some(network)
                if !has_ports
                    && !in_use.contains(&(bridge.as_str(), network))
                    && !is_desired_bridge(desired, bridge, network) =>
            {
                bridges.push(Op::RemoveBridge { bridge: bridge.clone(), network: network.clone() });
            }
            _ => {
                left.bridges.insert(bridge, shown);
                left.names.insert(bridge);
            }
        }
    }
    ports.append(&mut bridges);
    (ports, left)
}

/// Open vSwitch's database lets one port be on two bridges. The switch takes one of them, and may lose the port when it leaves the
/// other, without a word: only a port that is made anew is sure to work.
fn on_two_bridges(observed: &Observed) -> BTreeSet<&PortName> {
    let mut seen = BTreeSet::new();
    observed.bridges.values().flat_map(|bridge| bridge.ports.keys()).filter(|name| !seen.insert(*name)).collect()
}

/// Whether one of our ports may stay where it was seen. One that serves another socket is of no use to its pod and is made anew.
fn port_stays(wanted: Option<&DesiredAttachment>, bridge: &str, name: &PortName, port: &ObservedPort) -> bool {
    wanted.is_some_and(|attachment| {
        port.mark.as_ref().is_some_and(|mark| mark.network == attachment.network)
            && attachment.port.bridge.as_str() == bridge
            && attachment.port.name == *name
            && port.connection.as_ref() == Some(&attachment.port.connection)
    })
}

pub(super) fn is_desired_bridge(desired: &Desired, bridge: &str, network: &NetworkName) -> bool {
    desired.networks.get(network).is_some_and(|wanted| wanted.bridge.name.as_str() == bridge)
}

pub(super) fn foreign_ports(bridge: &ObservedBridge) -> impl Iterator<Item = &PortName> {
    bridge.ports.iter().filter(|(_, port)| port.mark.is_none()).map(|(name, _)| name)
}
