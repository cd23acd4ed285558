//! Converts the report of the node into the status of a `UserspaceNodeState`: complete for the node
//! itself, and sparse for the API server, where neither its size nor the number of writes may grow
//! with the number of networks. Pure.

use crate::model::report::Report;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use std::collections::BTreeSet;
use std::sync::Arc;
use usnet_common::display::OneLine;
use usnet_crds::conditions::reason::{
    AGENT_FAILED, ENGINE_UNREACHABLE, FOREIGN_PORTS, NEVER_SEEN, RECORD_UNREADABLE, STATE_NOT_WRITABLE,
};
use usnet_crds::conditions::{
    self, CONFIGURATIONS_ACCEPTED, ConditionUpdate, METRICS_SERVED, READY, Status, engine_connected,
};
use usnet_crds::node_state::{
    ATTACHMENT_MESSAGE_MAX, ATTACHMENTS_COUNT_MAX, DEGRADED_MAX, DEGRADED_OF_NODE_MAX, DegradedAttachment, EngineEnd,
    EngineReport, MESSAGE_MAX, NetworkReport, NetworkState, NodeSummary, PODS_MAX, REASON_MAX, REPORTS_MAX,
    UserspaceNodeStateStatus,
};
use usnet_crds::uplink::report::{UPLINK_REPORTS_MAX, UplinkReport, UplinkState};
use usnet_crds::{EngineKind, NetworkName};

/// The largest number that the schema of the CRD accepts: 2^53 - 1, beyond which JSON parsers in
/// JavaScript lose digits.
const NUMBER_MAX: i64 = 9_007_199_254_740_991;
/// The maximum number of characters, as in the schema of the CRD. The statuses of all nodes are
/// stored in etcd and held in the controller's memory; complete messages are in the agent's log.
const CONDITION_MESSAGE_MAX: usize = 1024;
/// The maximum number of characters, as in the schema of the CRD.
const VERSION_MAX: usize = 64;
/// The maximum number of characters, as in the schema of the CRD. The summary is a column of
/// `kubectl get`.
const SUMMARY_MAX: usize = 160;

impl Report {
    /// The complete status, to replace one with the conditions `old`.
    pub fn whole_status(&self, old: &[Condition], now: &Time) -> UserspaceNodeStateStatus {
        self.status(self.through(), self.networks.iter().map(Arc::as_ref), old, now)
    }

    /// The status for the API server, with only those networks that are not programmed or have
    /// pods.
    pub fn api_status(&self, old: &[Condition], now: &Time) -> UserspaceNodeStateStatus {
        let networks = || self.networks.iter().map(Arc::as_ref);
        let mut listed: Vec<&NetworkReport> = networks().filter(|entry| self.is_listed(entry)).collect();
        // Networks with pods come first, and among them those that are not programmed.
        listed.sort_by_key(|entry| (entry.attachments == 0, entry.state == NetworkState::Programmed));
        let omitted = listed.split_off(listed.len().min(REPORTS_MAX));
        listed.sort_by(|one, other| one.name.cmp(&other.name));
        let leaving = networks().filter(|entry| is_draining(entry) && entry.attachments == 0);
        let unreported: BTreeSet<&str> = omitted.into_iter().chain(leaving).map(|entry| entry.name.as_str()).collect();
        self.status(self.through_without(&unreported), listed.into_iter(), old, now)
    }

    fn status<'a>(
        &self,
        through: Option<u64>,
        networks: impl Iterator<Item = &'a NetworkReport>,
        old: &[Condition],
        now: &Time,
    ) -> UserspaceNodeStateStatus {
        let generation = self.observed_generation();
        let findings = self.findings.iter().map(bounded_finding).collect();
        let mut networks: Vec<_> = networks.map(bounded_network).collect();
        let mut left = DEGRADED_OF_NODE_MAX;
        for network in &mut networks {
            network.degraded.truncate(left);
            left -= network.degraded.len();
        }
        UserspaceNodeStateStatus {
            observed_generation: generation,
            programmed_through: through.map(|through| through.to_string()),
            conditions: conditions::merge(old, findings, generation, now),
            networks,
            uplinks: self.uplinks.iter().take(UPLINK_REPORTS_MAX).map(bounded_uplink).collect(),
            engines: self.engines.iter().map(bounded_engine).collect(),
            engine_ends: self.engine_ends.iter().map(bounded_end).collect(),
            affected_pods: self.affected_pods.clone(),
            policy_pods: self.policy_pods.clone(),
            // The status writer adds these: without an API server there are none.
            attachments: Vec::new(),
            summary: self.summary(),
        }
    }

    /// Whether the API server gets the entry of a network. One that fails only because its engine
    /// is not connected is omitted: the condition reports that for all of them.
    fn is_listed(&self, entry: &NetworkReport) -> bool {
        entry.attachments > 0
            || match entry.state {
                NetworkState::Programmed => false,
                NetworkState::Draining => [FOREIGN_PORTS, RECORD_UNREADABLE].contains(&entry.reason.as_str()),
                NetworkState::Pending | NetworkState::Failed => entry.reason != ENGINE_UNREACHABLE,
            }
    }

    /// The resourceVersion up to which everything is programmed, if these networks are not
    /// reported: below their versions. A draining network without pods counts as removed only once
    /// it is. The controller does not know networks of files.
    fn through_without(&self, unreported: &BTreeSet<&str>) -> Option<u64> {
        let spec = self.spec.as_ref()?;
        let is_counted = |name: &NetworkName| unreported.contains(name.as_str()) && !spec.is_from_file(name);
        let versions = spec.versions.iter().filter(|(name, _)| is_counted(name));
        let below = versions.map(|(_, version)| version.saturating_sub(1)).min();
        Some(below.map_or(spec.through, |below| below.min(spec.through)))
    }

    fn summary(&self) -> NodeSummary {
        let engines =
            self.engines.iter().map(|report| format!("{} {}", report.engine, truncate(&report.version, VERSION_MAX)));
        let selected = self.networks.iter().filter(|entry| !is_draining(entry)).count();
        let programmed = self.networks.iter().filter(|entry| entry.state == NetworkState::Programmed).count();
        let attachments = self.networks.iter().fold(0, |sum: i64, entry| sum.saturating_add(entry.attachments));
        NodeSummary {
            engines: truncate(&engines.collect::<Vec<_>>().join(", "), SUMMARY_MAX),
            networks: format!("{programmed}/{selected}"),
            attachments: count(attachments),
            problem: truncate(&self.problem().unwrap_or_default(), SUMMARY_MAX),
        }
    }

    /// The most important problem.
    fn problem(&self) -> Option<String> {
        let disconnected = EngineKind::ALL.into_iter().find_map(|engine| {
            let kind = engine_connected(engine);
            let is_down = |finding: &&ConditionUpdate| {
                finding.kind == kind && finding.status == Status::False && finding.reason != NEVER_SEEN
            };
            self.findings.iter().find(is_down).map(|finding| format!("{engine}: {}", finding.reason))
        });
        let agent = || {
            let is_own = |reason: &str| [AGENT_FAILED, STATE_NOT_WRITABLE].contains(&reason);
            let failed = self.findings.iter().find(|it| it.kind == READY && is_own(&it.reason));
            failed.map(|finding| format!("{}: {}", finding.reason, finding.message))
        };
        let network = || {
            let failed = self.networks.iter().find(|entry| entry.state == NetworkState::Failed);
            failed.map(|entry| format!("{}: {}", entry.name, entry.reason))
        };
        // Uplinks come before networks: an uplink is the reason why its networks fail.
        let uplink = || {
            let failed = self.uplinks.iter().find(|entry| entry.state == UplinkState::Failed);
            failed.map(|entry| format!("uplink {}: {}", entry.name, entry.reason))
        };
        let unserved = || {
            let is_own = |kind: &str| [METRICS_SERVED, CONFIGURATIONS_ACCEPTED].contains(&kind);
            let found = self.findings.iter().find(|it| is_own(it.kind) && it.status == Status::False);
            found.map(|finding| format!("{}: {}", finding.kind, finding.reason))
        };
        disconnected.or_else(agent).or_else(uplink).or_else(network).or_else(unserved)
    }
}

fn is_draining(entry: &NetworkReport) -> bool {
    entry.state == NetworkState::Draining
}

fn bounded_network(entry: &NetworkReport) -> NetworkReport {
    NetworkReport {
        name: entry.name.clone(),
        generation: entry.generation.clamp(0, NUMBER_MAX),
        state: entry.state,
        reason: truncate(&entry.reason, REASON_MAX),
        message: truncate(&entry.message, MESSAGE_MAX),
        attachments: count(entry.attachments),
        connected: count(entry.connected),
        pods: entry.pods.iter().take(PODS_MAX).cloned().collect(),
        degraded: entry.degraded.iter().take(DEGRADED_MAX).map(bounded_attachment).collect(),
    }
}

fn bounded_uplink(entry: &UplinkReport) -> UplinkReport {
    UplinkReport {
        generation: entry.generation.clamp(0, NUMBER_MAX),
        reason: truncate(&entry.reason, REASON_MAX),
        message: truncate(&entry.message, MESSAGE_MAX),
        ..entry.clone()
    }
}

fn bounded_attachment(entry: &DegradedAttachment) -> DegradedAttachment {
    DegradedAttachment { message: truncate(&entry.message, ATTACHMENT_MESSAGE_MAX), ..entry.clone() }
}

fn bounded_engine(report: &EngineReport) -> EngineReport {
    EngineReport {
        engine: report.engine,
        version: truncate(&report.version, VERSION_MAX),
        epoch: report.epoch.clamp(0, NUMBER_MAX),
    }
}

fn bounded_end(end: &EngineEnd) -> EngineEnd {
    EngineEnd { message: truncate(&end.message, MESSAGE_MAX), ..end.clone() }
}

fn bounded_finding(finding: &ConditionUpdate) -> ConditionUpdate {
    let message = truncate(&finding.message, CONDITION_MESSAGE_MAX);
    ConditionUpdate::new(finding.kind, finding.status, truncate(&finding.reason, REASON_MAX), message)
}

fn count(number: i64) -> i64 {
    number.clamp(0, ATTACHMENTS_COUNT_MAX)
}

/// Returns the text on one line, with at most `longest` characters. A truncated text ends in `…`.
fn truncate(text: &str, longest: usize) -> String {
    let line = OneLine(text).to_string();
    if line.chars().count() <= longest {
        return line;
    }
    line.chars().take(longest.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
