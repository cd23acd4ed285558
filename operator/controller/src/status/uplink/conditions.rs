//! Conditions of an uplink: Ready, the conditions that it summarizes, and Reconciling or Stalled
//! (kstatus).

use crate::cache::Uplink;
use crate::cache::uplink_use::{Used, Users};
use crate::status::tally::Tally;
use usnet_crds::conditions::message::network::{NodeProgress, SEE_READY, node_failed, nodes_pending};
use usnet_crds::conditions::message::uplink_status as message;
use usnet_crds::conditions::reason::{
    ALL_NODES, IN_USE, INVALID, NO_MATCHING_NODES, PENDING, TERMINATING, VALID, VLAN_IN_USE,
};
use usnet_crds::conditions::{
    ACCEPTED, ConditionUpdate, DEGRADED, DELETION_BLOCKED, PROGRAMMED, READY, RECONCILING, STALLED, Status,
};
use usnet_crds::network::NodeFailure;
use usnet_crds::uplink::report::UplinkReport;

#[derive(Debug)]
pub(super) struct Inputs<'a> {
    pub(super) uplink: &'a Uplink,
    pub(super) users: Option<&'a Users>,
    pub(super) tally: Tally,
    /// The nodes where it works in part, with what they report.
    pub(super) degraded: Vec<(&'a str, &'a UplinkReport)>,
}

pub(super) fn conditions(inputs: &Inputs<'_>) -> Vec<ConditionUpdate> {
    if inputs.uplink.is_deleting() {
        return deleting(inputs);
    }
    let (accepted, mut programmed) = (accepted(inputs), programmed(&inputs.tally));
    let needs_operator = accepted.status != Status::True || inputs.tally.needs_operator();
    let blocking = [&accepted, &programmed].into_iter().find(|part| part.status != Status::True);
    let ConditionUpdate { reason, message, .. } = blocking.unwrap_or(&programmed).clone();
    let ready = ConditionUpdate::new(READY, Status::from(blocking.is_none()), reason.clone(), message);
    let waiting = blocking.map(|_| {
        let kind = if needs_operator { STALLED } else { RECONCILING };
        ConditionUpdate::new(kind, Status::True, reason, SEE_READY)
    });
    if programmed.status == Status::False && programmed.message == ready.message {
        SEE_READY.clone_into(&mut programmed.message);
    }
    [ready, accepted, programmed].into_iter().chain(waiting).chain(degraded(inputs)).collect()
}

fn degraded(inputs: &Inputs<'_>) -> Option<ConditionUpdate> {
    let (node, report) = inputs.degraded.first()?;
    let message = message::degraded(inputs.degraded.len(), node, &report.message);
    Some(ConditionUpdate::new(DEGRADED, Status::True, report.reason.clone(), message))
}

fn deleting(inputs: &Inputs<'_>) -> Vec<ConditionUpdate> {
    let networks = inputs.users.map(|users| users.keys().map(String::as_str).collect::<Vec<_>>());
    let message = message::in_use(&networks.unwrap_or_default());
    vec![
        ConditionUpdate::new(READY, Status::False, TERMINATING, message.clone()),
        ConditionUpdate::new(DELETION_BLOCKED, Status::True, IN_USE, message),
    ]
}

fn accepted(inputs: &Inputs<'_>) -> ConditionUpdate {
    let valid = match &inputs.uplink.spec {
        Ok(valid) => valid,
        Err(problem) => return ConditionUpdate::new(ACCEPTED, Status::False, INVALID, problem),
    };
    let vlans = inputs.users.into_iter().flatten().filter_map(|(name, used)| match used {
        Used::Vlan(vlan) => Some((name.as_str(), *vlan)),
        Used::Underlay(_) => None,
    });
    let is_outside = |vlan: &usnet_crds::VlanTag| !valid.vlans.contains(*vlan);
    let outside: Vec<_> = vlans.clone().filter_map(|(name, vlan)| Some((name, vlan.filter(is_outside)?))).collect();
    let of_underlay = |(_, vlan): &(&str, _)| valid.underlay.is_some_and(|underlay| underlay.vlan == *vlan);
    let shared: Vec<_> = vlans.filter(of_underlay).map(|(name, _)| name).collect();
    match (outside.as_slice(), shared.as_slice()) {
        ([], []) => ConditionUpdate::new(ACCEPTED, Status::True, VALID, message::SPEC_VALID),
        ([], some) => ConditionUpdate::new(ACCEPTED, Status::False, VLAN_IN_USE, message::underlay_in_use(some)),
        (some, _) => ConditionUpdate::new(ACCEPTED, Status::False, VLAN_IN_USE, message::vlans_in_use(some)),
    }
}

fn programmed(tally: &Tally) -> ConditionUpdate {
    let update = |status, reason: &str, message: String| ConditionUpdate::new(PROGRAMMED, status, reason, message);
    let progress =
        NodeProgress { programmed: tally.programmed, selected: tally.selected, unreachable: tally.unreachable };
    if let Some(NodeFailure { node, reason, message }) = tally.failures.first() {
        return update(Status::False, reason, node_failed(progress, node, reason, message));
    }
    if let Some(first) = &tally.first_pending {
        return update(Status::False, PENDING, nodes_pending(progress, tally.pending, first));
    }
    match tally.selected {
        0 => update(Status::True, NO_MATCHING_NODES, message::NO_NODES.to_owned()),
        _ => update(Status::True, ALL_NODES, progress.to_string()),
    }
}
