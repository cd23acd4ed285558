//! Bridge domains.

use super::decision::Decision;
use crate::engine::error::OpError;
use crate::engine::vpp::bridge_settings;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::observe::observe_domain;
use crate::engine::vpp::routing::RoutingCommand;
use crate::engine::vpp::snapshot::{BridgeDomain, VppSnapshot};
use crate::engine::vpp::tags;
use crate::model::bridge::{BridgeOwner, DesiredBridge};
use crate::model::port::{DesiredPort, PortBridge};
use crate::plan::{adoption_blocker, bridge_matches};
use usnet_crds::{Bridge, BridgeDomainId, BridgeName, NetworkName, Ownership};

pub(super) fn remove<'a>(snapshot: &VppSnapshot, bridge: &str, owner: &BridgeOwner) -> Result<Decision<'a>, OpError> {
    let domain = bridge.parse().ok().and_then(|id: u32| Some((id, snapshot.domains.get(&id)?)));
    match domain {
        None => Ok(Decision::NoOp),
        Some((_, domain)) if domain.owner.as_ref() != owner.network() => Err(foreign(bridge)),
        Some((_, domain)) if !domain.members.is_empty() => Err(OpError::BridgeInUse { bridge: bridge.to_owned() }),
        Some((id, domain)) => {
            let marker = domain.marker.map(|index| VppCommand::Routing(RoutingCommand::DeleteLoopback { index }));
            Ok(Decision::Apply(marker.into_iter().chain([VppCommand::DeleteBridgeDomain { id }]).collect()))
        }
    }
}

pub(super) fn create<'a>(snapshot: &VppSnapshot, desired: &DesiredBridge) -> Result<Decision<'a>, OpError> {
    let (network, bridge) = of_network(desired)?;
    let id = domain_id(bridge)?;
    let create = VppCommand::CreateBridgeDomain(bridge_settings::create(id, tags::network_tag(network)?, bridge));
    let create = [create, VppCommand::Bridge(bridge_settings::complete(id, bridge))];
    match snapshot.domains.get(&id) {
        None => Ok(Decision::Apply(create.into())),
        Some(domain) if domain.owner.as_ref() == Some(network) => Ok(configure(id, domain, desired, bridge)),
        // VPP cannot tag it afterwards, so that it is recreated. All of its ports are owned by
        // usnet; creating them adds them again.
        Some(domain) if snapshot.is_implicit(domain) => {
            let remove_members =
                domain.members.keys().map(|index| VppCommand::RemoveFromBridgeDomain { index: *index, id });
            Ok(Decision::Apply(remove_members.chain([VppCommand::DeleteBridgeDomain { id }]).chain(create).collect()))
        }
        Some(_) => Err(foreign(bridge.name.as_str())),
    }
}

pub(super) fn update<'a>(snapshot: &VppSnapshot, desired: &DesiredBridge) -> Result<Decision<'a>, OpError> {
    let (network, bridge) = of_network(desired)?;
    let id = domain_id(bridge)?;
    match snapshot.domains.get(&id) {
        None => Err(OpError::BridgeMissing { bridge: bridge.name.to_string() }),
        Some(domain) if domain.owner.as_ref() == Some(network) => Ok(configure(id, domain, desired, bridge)),
        Some(_) => Err(foreign(bridge.name.as_str())),
    }
}

/// The network of a bridge: uplinks of VPP have none.
fn of_network(desired: &DesiredBridge) -> Result<(&NetworkName, &Bridge), OpError> {
    match desired {
        DesiredBridge::Network { network, bridge, .. } => Ok((network, bridge)),
        DesiredBridge::Uplink { name, .. } => {
            let reason = "uplinks of VPP have no bridge".to_owned();
            Err(OpError::Refused { what: format!("bridge {name}"), reason })
        }
    }
}

/// The bridge domain of a port: the one that its network owns or adopts.
pub(super) fn of_port(snapshot: &VppSnapshot, port: &DesiredPort) -> Result<u32, OpError> {
    let Some(PortBridge { name, owner: BridgeOwner::Network(network), ownership }) = &port.bridge else {
        let reason = "a port of VPP needs the bridge domain of a network".to_owned();
        return Err(OpError::Refused { what: format!("port {}", port.name), reason });
    };
    match ownership {
        Ownership::Managed => of_managed(snapshot, name, network),
        Ownership::Adopted => {
            let found = by_name(snapshot, name);
            let domain = found.map(|(_, domain)| observe_domain(domain));
            match (found, adoption_blocker(domain.as_ref(), network)) {
                (Some((id, _)), None) => Ok(id),
                (_, found) => {
                    Err(OpError::BridgeUnusable { bridge: name.to_string(), found: found.unwrap_or_default() })
                }
            }
        }
    }
}

/// The bridge domain that a network owns.
pub(super) fn of_managed(snapshot: &VppSnapshot, name: &BridgeName, network: &NetworkName) -> Result<u32, OpError> {
    let found = by_name(snapshot, name).filter(|(_, domain)| domain.owner.as_ref() == Some(network));
    found.map(|(id, _)| id).ok_or_else(|| OpError::BridgeMissing { bridge: name.to_string() })
}

fn by_name<'a>(snapshot: &'a VppSnapshot, name: &BridgeName) -> Option<(u32, &'a BridgeDomain)> {
    let id = name.as_str().parse().ok()?;
    Some((id, snapshot.domains.get(&id)?))
}

/// A bridge domain of the network: its settings may differ.
fn configure<'a>(id: u32, domain: &BridgeDomain, desired: &DesiredBridge, bridge: &Bridge) -> Decision<'a> {
    if bridge_matches(&observe_domain(domain), desired) {
        return Decision::NoOp;
    }
    Decision::Apply(bridge_settings::update(id, bridge).into_iter().map(VppCommand::Bridge).collect())
}

/// VPP's bridge domains have numbers; a bridge of another name is none of VPP's.
fn domain_id(bridge: &Bridge) -> Result<u32, OpError> {
    let id = BridgeDomainId::try_from(&bridge.name);
    id.map(BridgeDomainId::get)
        .map_err(|error| OpError::Refused { what: format!("bridge {}", bridge.name), reason: error.to_string() })
}

fn foreign(bridge: &str) -> OpError {
    OpError::Foreign { what: format!("bridge domain {bridge}") }
}
