//! When a status is written. Users wait for transitions of Ready. Progress and counts can wait,
//! because each write costs the API server as much as any other, and thousands of nodes report.
//! Pure; time is passed in.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;
use usnet_common::token_bucket::TokenBucket;
use usnet_crds::conditions::reason::{PENDING, SYNCING, TERMINATING};
use usnet_crds::conditions::{READY, Status, find};
use usnet_crds::{UserspaceNetworkStatus, UserspaceUplinkStatus};

/// The minimum interval of statuses of one network. It does not delay the first Ready of a
/// generation.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// The delay before work in progress is reported: most of it is finished by then, which saves a
/// write.
pub const BEGIN: Duration = Duration::from_secs(1);
/// The delay of statuses that change the number of interfaces or of connected programs, while the
/// network has few of them: users wait for their pods. It combines the nodes of a Deployment.
pub const PODS: Duration = Duration::from_millis(300);
/// How many such statuses of a network are written after a pause: a Deployment of ten pods takes
/// two for each at most.
pub const PODS_BURST: u32 = 20;
/// Afterwards there is one in each such interval, however many nodes and pods the network has. They
/// share the rate of all counts, so that many such networks do not load the API server.
pub const PODS_INTERVAL: Duration = Duration::from_secs(5);
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
    /// Pods were attached or detached, or programs connected or disconnected.
    Pods,
    /// Only counts of nodes and messages changed.
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
            None if old.attachments != new.attachments => Self::Pods,
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
        if (old.attachments, old.connected) != (new.attachments, new.connected) {
            return Self::Pods;
        }
        let failed = |status: &UserspaceNetworkStatus| -> Vec<(String, String)> {
            status.failures.iter().map(|failure| (failure.node.clone(), failure.reason.clone())).collect()
        };
        let is_of_nodes_only = old.nodes.selected == new.nodes.selected
            && old.nodes.failed == new.nodes.failed
            && failed(old) == failed(new)
            && old.nodes.unreachable != new.nodes.unreachable;
        if is_of_nodes_only && !has_unreachable_pods { Self::NodeCounts } else { Self::Counts }
    }

    const fn wait(self) -> Duration {
        match self {
            Self::Transition => Duration::ZERO,
            Self::Begin => BEGIN,
            Self::Pods => PODS,
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

#[derive(Debug)]
struct Times {
    uid: String,
    written: Option<Instant>,
    /// How many statuses of changed pods may be written soon.
    pods: TokenBucket,
    /// The generation that was reported ready last.
    ready_generation: Option<i64>,
    /// The urgency of the pending status, and when it may be written.
    due: Option<(Urgency, Instant)>,
}

impl Times {
    fn of(uid: &str) -> Self {
        let pods = TokenBucket::new(PODS_BURST, PODS_INTERVAL);
        Self { uid: uid.to_owned(), written: None, pods, ready_generation: None, due: None }
    }

    /// When a status of this urgency may be written that is not pending yet.
    fn desired(&self, urgency: Urgency, now: Instant) -> Instant {
        let soon = now + urgency.wait();
        match self.pods.next_token().map(Instant::from_std) {
            Some(next) if urgency == Urgency::Pods => soon.max(next),
            _ => soon,
        }
    }
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
        let times = self.networks.entry(network.to_owned()).or_insert_with(|| Times::of(uid));
        if times.uid != uid {
            *times = Times::of(uid);
        }
        let is_first_ready = is_ready(status) && times.ready_generation != status.generation();
        if is_first_ready && urgency == Urgency::Transition {
            times.due = None;
            return now;
        }
        // A pending status is not postponed by later changes.
        let desired = times.desired(urgency, now);
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
        if matches!(times.due, Some((Urgency::Pods, _))) {
            times.pods.take_token(now.into_std());
        }
        (times.written, times.due) = (Some(now), None);
        if is_ready(status) {
            times.ready_generation = status.generation();
        }
    }

    pub fn remove(&mut self, network: &str) {
        self.networks.remove(network);
    }
}
