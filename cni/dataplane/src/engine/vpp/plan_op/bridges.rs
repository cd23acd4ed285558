//! Bridge domains.

use super::decision::Decision;
use crate::engine::error::OpError;
use crate::engine::vpp::bridge_settings;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::observe::observe_domain;
use crate::engine::vpp::snapshot::{BridgeDomain, VppSnapshot};
use crate::engine::vpp::tags;
use crate::plan::{adoption_blocker, bridge_matches_spec};
use usnet_crds::{Bridge, BridgeDomainId, BridgeName, NetworkName, Ownership};

pub(super) fn remove<'a>(snapshot: &VppSnapshot, bridge: &str, network: &NetworkName) -> Result<Decision<'a>, OpError> {
    let domain = bridge.parse().ok().and_then(|id: u32| Some((id, snapshot.domains.get(&id)?)));
    match domain {
        None => Ok(Decision::NoOp),
        Some((_, domain)) if domain.owner.as_ref() != Some(network) => Err(foreign(bridge)),
        Some((_, domain)) if !domain.members.is_empty() => Err(OpError::BridgeInUse { bridge: bridge.to_owned() }),
        Some((id, _)) => Ok(Decision::Apply(vec![VppCommand::DeleteBridgeDomain { id }])),
    }
}

pub(super) fn create<'a>(
    snapshot: &VppSnapshot,
    bridge: &Bridge,
    network: &NetworkName,
) -> Result<Decision<'a>, OpError> {
    let id = domain_id(bridge)?;
    let create = VppCommand::CreateBridgeDomain(bridge_settings::create(id, tags::network_tag(network)?, bridge));
    let create = [create, VppCommand::Bridge(bridge_settings::complete(id, bridge))];
    match snapshot.domains.get(&id) {
        None => Ok(Decision::Apply(create.into())),
        Some(domain) if domain.owner.as_ref() == Some(network) => Ok(configure(id, domain, bridge)),
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

pub(super) fn update<'a>(
    snapshot: &VppSnapshot,
    bridge: &Bridge,
    network: &NetworkName,
) -> Result<Decision<'a>, OpError> {
    let id = domain_id(bridge)?;
    match snapshot.domains.get(&id) {
        None => Err(OpError::BridgeMissing { bridge: bridge.name.to_string() }),
        Some(domain) if domain.owner.as_ref() == Some(network) => Ok(configure(id, domain, bridge)),
        Some(_) => Err(foreign(bridge.name.as_str())),
    }
}

/// The bridge domain of a port: the one that its network owns or adopts.
pub(super) fn of_port(
    snapshot: &VppSnapshot,
    (bridge, ownership): (&BridgeName, Ownership),
    network: &NetworkName,
) -> Result<u32, OpError> {
    let bridge = bridge.to_string();
    let found = bridge.parse().ok().and_then(|id: u32| Some((id, snapshot.domains.get(&id)?)));
    match (ownership, found) {
        (Ownership::Managed, Some((id, domain))) if domain.owner.as_ref() == Some(network) => Ok(id),
        (Ownership::Managed, _) => Err(OpError::BridgeMissing { bridge }),
        (Ownership::Adopted, found) => {
            let domain = found.map(|(_, domain)| observe_domain(domain));
            match (found, adoption_blocker(domain.as_ref(), network)) {
                (Some((id, _)), None) => Ok(id),
                (_, found) => Err(OpError::BridgeUnusable { bridge, found: found.unwrap_or_default() }),
            }
        }
    }
}

/// A bridge domain of the network: its settings may differ.
fn configure<'a>(id: u32, domain: &BridgeDomain, bridge: &Bridge) -> Decision<'a> {
    if bridge_matches_spec(&observe_domain(domain), bridge) {
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
