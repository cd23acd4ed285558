//! When a status is written. Users wait for transitions of Ready. Progress and counts can wait,
//! because each write costs the API server as much as any other, and thousands of nodes report.
//! Pure; time is passed in.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;
use usnet_crds::conditions::reason::{PENDING, SYNCING, TERMINATING};
use usnet_crds::conditions::{READY, Status, find};
use usnet_crds::{UserspaceNetworkStatus, UserspaceUplinkStatus};

/// The minimum interval of statuses of one network. It does not delay the first Ready of a
/// generation.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// The delay before work in progress is reported: most of it is finished by then, which saves a
/// write.
pub const BEGIN: Duration = Duration::from_secs(1);
/// The delay of statuses that change only counts.
pub const COUNTS: Duration = Duration::from_secs(10);
/// The delay of statuses that change only node counts, of a network without pods on the nodes that
/// became ready or unready. A reboot of a node or a rolling upgrade is over by then, and costs no
/// write for networks that it does not affect.
pub const NODE_COUNTS: Duration = Duration::from_secs(300);

/// The urgency of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Ready, another condition, a failure or a generation changed: users wait for it.
    Transition,
    /// Work has begun on a generation that is not ready yet.
    Begin,
    /// Only counts and messages changed.
    Counts,
    /// Only counts of nodes without affected pods changed.
    NodeCounts,
}

pub trait Conditions {
    /// The observed generation.
    fn generation(&self) -> Option<i64>;
    fn conditions(&self) -> &[Condition];
}

impl Conditions for UserspaceNetworkStatus {
    fn generation(&self) -> Option<i64> {
        self.observed_generation
    }
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
}

impl Conditions for UserspaceUplinkStatus {
    fn generation(&self) -> Option<i64> {
        self.observed_generation
    }
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
}

impl Urgency {
    /// The urgency of replacing one status of an uplink by another.
    pub fn of_uplink(old: Option<&UserspaceUplinkStatus>, new: &UserspaceUplinkStatus) -> Self {
        let Some(old) = old else { return Self::Transition };
        let may_be_deleted = |status: &UserspaceUplinkStatus| status.attachments == 0;
        match Self::of_conditions(old, new) {
            Some(urgency) => urgency,
            None if may_be_deleted(old) != may_be_deleted(new) => Self::Transition,
            None => Self::Counts,
        }
    }

    /// The urgency of a change of conditions or of the generation; none if these are the same.
    fn of_conditions<S: Conditions>(old: &S, new: &S) -> Option<Self> {
        let conditions = |status: &S| -> Vec<(String, String, String)> {
            let conditions = status.conditions().iter();
            conditions.map(|it| (it.type_.clone(), it.status.clone(), it.reason.clone())).collect()
        };
        let is_same_generation = old.generation() == new.generation();
        let is_same = is_same_generation && conditions(old) == conditions(new);
        (!is_same).then(|| match (is_working(new), is_ready(old) && is_same_generation) {
            (false, _) => Self::Transition,
            // Namespaces or nodes changed, not the network: mostly it is ready again soon.
            (true, true) => Self::Counts,
            (true, false) => Self::Begin,
        })
    }

    /// The urgency of replacing one status of a network by another.
    pub fn of(old: Option<&UserspaceNetworkStatus>, new: &UserspaceNetworkStatus, has_unreachable_pods: bool) -> Self {
        let Some(old) = old else { return Self::Transition };
        if let Some(urgency) = Self::of_conditions(old, new) {
            return urgency;
        }
        // Whether the network may be deleted, and whether any program has reached its port: a user
        // who starts the first pod waits for that.
        if (old.attachments > 0) != (new.attachments > 0) || (old.connected > 0) != (new.connected > 0) {
            return Self::Transition;
        }
        let failed = |status: &UserspaceNetworkStatus| -> Vec<(String, String)> {
            status.failures.iter().map(|failure| (failure.node.clone(), failure.reason.clone())).collect()
        };
        let is_of_nodes_only = old.attachments == new.attachments
            && old.connected == new.connected
            && old.nodes.selected == new.nodes.selected
            && old.nodes.failed == new.nodes.failed
            && failed(old) == failed(new)
            && old.nodes.unreachable != new.nodes.unreachable;
        if is_of_nodes_only && !has_unreachable_pods { Self::NodeCounts } else { Self::Counts }
    }

    const fn wait(self) -> Duration {
        match self {
            Self::Transition => Duration::ZERO,
            Self::Begin => BEGIN,
            Self::Counts => COUNTS,
            Self::NodeCounts => NODE_COUNTS,
        }
    }
}

/// Whether Ready is False only because of work in progress.
fn is_working(status: &impl Conditions) -> bool {
    find(status.conditions(), READY)
        .is_some_and(|ready| [PENDING, SYNCING, TERMINATING].contains(&ready.reason.as_str()))
}

fn is_ready(status: &impl Conditions) -> bool {
    find(status.conditions(), READY).is_some_and(|ready| ready.status == Status::True.as_str())
}

/// When the status of each object of one kind was written last, and when it is written next.
#[derive(Debug, Default)]
pub struct StatusTimes {
    networks: BTreeMap<String, Times>,
}

#[derive(Debug, Default)]
struct Times {
    uid: String,
    written: Option<Instant>,
    /// The generation that was reported ready last.
    ready_generation: Option<i64>,
    /// The urgency of the pending status, and when it may be written.
    due: Option<(Urgency, Instant)>,
}

impl StatusTimes {
    /// When this status may be written.
    pub fn due(
        &mut self,
        network: &str,
        uid: &str,
        urgency: Urgency,
        status: &impl Conditions,
        now: Instant,
    ) -> Instant {
        let times = self.networks.entry(network.to_owned()).or_default();
        if times.uid != uid {
            *times = Times { uid: uid.to_owned(), ..Times::default() };
        }
        let is_first_ready = is_ready(status) && times.ready_generation != status.generation();
        if is_first_ready && urgency == Urgency::Transition {
            times.due = None;
            return now;
        }
        // A pending status is not postponed by later changes.
        let desired = now + urgency.wait();
        let desired = match times.due {
            Some((waiting, due)) if waiting == urgency || due < desired && waiting < urgency => due,
            _ => desired,
        };
        times.due = Some((urgency, desired));
        let earliest = times.written.map_or(now, |written| written + INTERVAL);
        desired.max(earliest)
    }

    /// The status of the network is up to date: nothing is pending.
    pub fn clear_due(&mut self, network: &str) {
        if let Some(times) = self.networks.get_mut(network) {
            times.due = None;
        }
    }

    pub fn record_write(&mut self, network: &str, status: &impl Conditions, now: Instant) {
        let Some(times) = self.networks.get_mut(network) else { return };
        (times.written, times.due) = (Some(now), None);
        if is_ready(status) {
            times.ready_generation = status.generation();
        }
    }

    pub fn remove(&mut self, network: &str) {
        self.networks.remove(network);
    }
}
