//! Step four of a pass: from the engine as it was read after the last change to one verdict for each network. Pure.

use super::guard::attachment_of;
use super::reason;
use std::collections::BTreeMap;
use usnet_crds::NetworkName;
use usnet_crds::conditions::reason::BRIDGE_EXISTS;
use usnet_crds::node_state::NetworkState;
use usnet_dataplane::desired::{Desired, Presence};
use usnet_dataplane::engine::OpError;
use usnet_dataplane::observed::{ElementState, Observed};
use usnet_dataplane::plan::{Obstacle, Op};

/// What can be said of one network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    /// How far it is.
    pub state: NetworkState,
    /// Why it is not programmed; none when it is.
    pub why: Option<Why>,
    /// Whether pods can attach: the bridge runs, even where a port of it does not.
    pub attachable: bool,
}

/// Why a network is not programmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Why {
    /// In one word.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

impl Verdict {
    /// Everything is as the spec asks.
    pub(super) const PROGRAMMED: Self = Self { state: NetworkState::Programmed, why: None, attachable: true };

    /// It cannot be, and pods cannot attach.
    pub(super) fn failed(reason: &'static str, message: impl Into<String>) -> Self {
        let why = Some(Why { reason, message: message.into() });
        Self { state: NetworkState::Failed, why, attachable: false }
    }

    fn pending(message: String) -> Self {
        let why = Some(Why { reason: reason::WAITING, message });
        Self { state: NetworkState::Pending, why, attachable: false }
    }

    /// The bridge runs, one of its ports does not.
    fn port_failed(message: String) -> Self {
        Self { attachable: true, ..Self::failed(reason::PORT_FAILED, message) }
    }
}

/// What the verdicts are drawn from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evidence<'a> {
    /// What the engine should have.
    pub desired: &'a Desired,
    /// What it showed after the last change.
    pub observed: &'a Observed,
    /// What is still to be done.
    pub left: &'a [Op],
    /// What only a person can move.
    pub obstacles: &'a BTreeMap<NetworkName, Obstacle>,
    /// Operations that failed, and why.
    pub failures: &'a [(Op, OpError)],
    /// Why the engine as a whole did not do what it was asked.
    pub trouble: Option<&'a str>,
}

/// A verdict for each desired network.
pub(super) fn judge(evidence: Evidence<'_>) -> BTreeMap<NetworkName, Verdict> {
    let verdict = |network: &NetworkName| {
        bridge_verdict(evidence, network).or_else(|| port_verdict(evidence, network)).unwrap_or(Verdict::PROGRAMMED)
    };
    evidence.desired.networks.keys().map(|network| (network.clone(), verdict(network))).collect()
}

/// The network that an operation is for.
pub(super) fn network_of(operation: &Op) -> &NetworkName {
    match operation {
        Op::RemovePort { mark, .. } | Op::UpdatePort { mark, .. } => &mark.network,
        Op::RemoveBridge { network, .. }
        | Op::CreateBridge { network, .. }
        | Op::UpdateBridge { network, .. }
        | Op::CreatePort { network, .. } => network,
    }
}

fn is_for_bridge(operation: &Op) -> bool {
    matches!(operation, Op::CreateBridge { .. } | Op::UpdateBridge { .. })
}

/// None when the bridge runs as it should.
fn bridge_verdict(evidence: Evidence<'_>, network: &NetworkName) -> Option<Verdict> {
    if let Some(obstacle @ Obstacle::BridgeExists { .. }) = evidence.obstacles.get(network) {
        return Some(Verdict::failed(BRIDGE_EXISTS, obstacle.to_string()));
    }
    let concerns = |operation: &Op| is_for_bridge(operation) && network_of(operation) == network;
    if let Some((_, error)) = evidence.failures.iter().find(|(operation, _)| concerns(operation)) {
        return Some(Verdict::failed(reason::of(error), error.to_string()));
    }
    if let Some(operation) = evidence.left.iter().find(|operation| concerns(operation)) {
        let trouble = evidence.trouble.map(|trouble| format!(" (last try: {trouble})")).unwrap_or_default();
        return Some(Verdict::pending(format!("still to do: {operation}{trouble}")));
    }
    let bridge = &evidence.desired.networks.get(network)?.bridge.name;
    match evidence.observed.bridges.get(bridge.as_str()).map(|bridge| &bridge.state) {
        Some(ElementState::Running) => None,
        Some(ElementState::Pending) | None => {
            Some(Verdict::pending(format!("Open vSwitch has not brought up bridge {bridge} yet")))
        }
        Some(ElementState::Failed(error)) => Some(Verdict::failed(
            reason::ENGINE_REFUSED,
            format!("Open vSwitch could not bring up bridge {bridge}: {error}"),
        )),
    }
}

/// None when the ports of all attached pods run. Ports that the plugin is making at this moment do not count.
fn port_verdict(evidence: Evidence<'_>, network: &NetworkName) -> Option<Verdict> {
    let attached = evidence
        .desired
        .attachments
        .iter()
        .filter(|(_, attachment)| attachment.network == *network && attachment.presence == Presence::Required);
    attached.into_iter().find_map(|(id, attachment)| {
        let mark = id.to_string();
        let concerns = |operation: &Op| attachment_of(operation).as_ref() == Some(&mark);
        if let Some((operation, error)) = evidence.failures.iter().find(|(operation, _)| concerns(operation)) {
            return Some(Verdict::port_failed(format!("cannot {operation}: {error}")));
        }
        let bridge = evidence.observed.bridges.get(attachment.port.bridge.as_str())?;
        match &bridge.ports.get(&attachment.port.name)?.state {
            ElementState::Failed(error) => Some(Verdict::port_failed(format!(
                "Open vSwitch could not bring up port {} of attachment {id}: {error}",
                attachment.port.name
            ))),
            ElementState::Running | ElementState::Pending => None,
        }
    })
}

#[cfg(test)]
mod tests;
