//! What the NICs and the engine mean for uplinks and their networks. Pure.

use super::prepared::{PreparedUplinks, UplinkEvidence};
use crate::agent::model::health::{NetworkHealth, Why};
use crate::agent::model::reason;
use crate::agent::reconcile::links::health::LinkHealth;
use std::collections::BTreeMap;
use std::fmt::Display;
use usnet_crds::conditions::message::uplink as message;
use usnet_crds::conditions::reason::{
    BRIDGE_EXISTS, ENGINE_REFUSED, MISSING_PRIVILEGE, NIC_CARRIES_NODE, NIC_LOST, NIC_MISSING, NIC_TAKEN,
    UPLINK_NOT_READY, UPLINK_UNSUPPORTED, WAITING,
};
use usnet_crds::uplink::report::{UplinkReport, UplinkState};
use usnet_crds::{NodeUplink, UplinkName};
use usnet_dataplane::links::nics::NicBlocker;
use usnet_dataplane::observed::ElementState;
use usnet_dataplane::owner::Owner;
use usnet_dataplane::plan::{UplinkBlocker, is_connected, uplink_blockers};

/// The health of one uplink.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UplinkHealth {
    /// Why it is not programmed, unless that is pending.
    pub(super) why: Option<Why>,
    /// Whether operations are left to be done.
    pub(super) is_pending: bool,
    /// Whether pods may attach all the same: the NIC was there, and comes back by itself.
    is_out_of_service: bool,
}

impl UplinkHealth {
    fn failed(why: Why) -> Self {
        Self { why: Some(why), ..Self::default() }
    }
}

/// The health of each uplink.
pub(super) fn of_uplinks(
    prepared: &PreparedUplinks,
    evidence: UplinkEvidence<'_>,
) -> BTreeMap<UplinkName, UplinkHealth> {
    let blockers = uplink_blockers(evidence.desired, evidence.observed);
    let health = |uplink: &NodeUplink| of_uplink(uplink, prepared, (evidence, blockers.get(&uplink.name)));
    prepared.specs.iter().map(|(name, uplink)| (name.clone(), health(uplink))).collect()
}

fn of_uplink(
    uplink: &NodeUplink,
    prepared: &PreparedUplinks,
    (evidence, blocker): (UplinkEvidence<'_>, Option<&UplinkBlocker>),
) -> UplinkHealth {
    let resolved = prepared.resolved.get(&uplink.name);
    if let Some(blocker) = resolved.and_then(|resolved| resolved.blocker.as_ref()) {
        let why = of_nic(blocker);
        return UplinkHealth { is_out_of_service: why.reason == NIC_LOST, ..UplinkHealth::failed(why) };
    }
    if let Some(blocker) = blocker {
        return UplinkHealth::failed(of_blocker(blocker));
    }
    let failure = evidence.failures.iter().find(|(operation, _)| operation.uplink() == Some(&uplink.name));
    if let Some((operation, error)) = failure {
        let message = message::change_failed(operation, &reason::message(error));
        return UplinkHealth::failed(Why { reason: reason::of(error), message });
    }
    if !evidence.desired.uplinks.contains_key(&uplink.name) {
        return UplinkHealth::default();
    }
    let bridges = evidence.observed.bridges.values().filter(|bridge| bridge.uplink.as_ref() == Some(&uplink.name));
    let is_nic = |owner: &Owner| matches!(owner, Owner::Nic(nic) if nic.uplink == uplink.name);
    let mut ports = bridges.flat_map(|bridge| &bridge.ports).chain(&evidence.observed.unbridged_ports);
    let nic = ports.find(|(_, port)| port.owner.as_ref().is_some_and(|owner| is_nic(&owner.owner)));
    match nic.map(|(name, port)| (name, &port.state)) {
        None => UplinkHealth { is_pending: true, ..UplinkHealth::default() },
        Some((name, ElementState::Failed(problem))) => {
            let message = message::nic_failed(uplink.engine, name, problem);
            UplinkHealth::failed(Why { reason: ENGINE_REFUSED, message })
        }
        Some((_, ElementState::Running | ElementState::Pending)) => UplinkHealth::default(),
    }
}

fn of_blocker(blocker: &UplinkBlocker) -> Why {
    match blocker {
        UplinkBlocker::BridgeExists { bridge } => {
            Why { reason: BRIDGE_EXISTS, message: message::bridge_exists(bridge) }
        }
        UplinkBlocker::NicTaken { nic, holder } => Why { reason: NIC_TAKEN, message: message::nic_taken(nic, holder) },
    }
}

fn of_nic(blocker: &NicBlocker) -> Why {
    let (reason, message) = match blocker {
        NicBlocker::MissingPrivilege => (MISSING_PRIVILEGE, message::MISSING_PRIVILEGE.to_owned()),
        NicBlocker::Unsupported { what } => (UPLINK_UNSUPPORTED, message::unsupported(what)),
        NicBlocker::Missing { wanted } => (NIC_MISSING, message::nic_missing(wanted)),
        NicBlocker::Ambiguous { wanted, found } => (NIC_MISSING, message::nic_ambiguous(wanted, found)),
        NicBlocker::CarriesNode { nic, what } => (NIC_CARRIES_NODE, message::nic_carries_node(nic, what)),
        NicBlocker::SharedUntagged { nic } => (NIC_CARRIES_NODE, message::nic_shared_untagged(nic)),
        NicBlocker::Taken { nic, uplink } => (NIC_TAKEN, message::nic_taken(nic, &format!("uplink {uplink}"))),
        NicBlocker::Lost { nic, renamed } => {
            (NIC_LOST, message::nic_lost(nic, renamed.as_ref().map(|name| name as &dyn Display)))
        }
        NicBlocker::Down { nic } => (NIC_LOST, message::nic_down(nic)),
        NicBlocker::NoCarrier { nic } => (NIC_LOST, message::nic_without_carrier(nic)),
    };
    Why { reason, message }
}

/// Networks that are not connected, and why. One whose NIC is out of service takes pods all the
/// same: its bridge works.
pub(super) fn of_networks(
    prepared: &PreparedUplinks,
    uplinks: &BTreeMap<UplinkName, UplinkHealth>,
    evidence: UplinkEvidence<'_>,
) -> LinkHealth {
    let health = |pair: &usnet_dataplane::uplink::PatchPair| {
        if let Some(why) = prepared.refused.get(&pair.network) {
            return Some(NetworkHealth::failed(why.reason, why.message.clone()));
        }
        let uplink = uplinks.get(&pair.uplink)?;
        match &uplink.why {
            Some(why) => Some(NetworkHealth {
                attachable: uplink.is_out_of_service,
                ..NetworkHealth::failed(UPLINK_NOT_READY, message::not_ready(&pair.uplink, &why.message))
            }),
            None if uplink.is_pending || !is_connected(pair, evidence.observed) => {
                Some(NetworkHealth::pending(message::connecting(&pair.uplink)))
            }
            None => None,
        }
    };
    let patches = prepared.patches.iter().map(|patch| &patch.pair);
    patches.filter_map(|pair| Some((pair.network.clone(), health(pair)?))).collect()
}

/// What is reported of an uplink.
pub(super) fn report(
    uplink: &NodeUplink,
    prepared: &PreparedUplinks,
    health: &BTreeMap<UplinkName, UplinkHealth>,
) -> UplinkReport {
    let nic = prepared.resolved.get(&uplink.name).and_then(|resolved| resolved.device.as_ref());
    let health = health.get(&uplink.name);
    let (state, reason, message) = match health.map(|health| (&health.why, health.is_pending)) {
        Some((Some(why), _)) => (UplinkState::Failed, why.reason, why.message.clone()),
        Some((None, true)) | None => (UplinkState::Pending, WAITING, message::PENDING.to_owned()),
        Some((None, false)) => (UplinkState::Programmed, "", String::new()),
    };
    UplinkReport {
        name: uplink.name.to_string(),
        generation: uplink.generation,
        state,
        reason: reason.to_owned(),
        message,
        nic: nic.map(|nic| nic.device.to_string()).unwrap_or_default(),
    }
}
