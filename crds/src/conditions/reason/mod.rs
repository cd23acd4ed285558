//! All reasons of conditions, of networks, uplinks and interfaces on a node, and of events: in
//! CamelCase as Kubernetes requires, each in one row with what it means and what to do about it.
//! `docs/errors.md` is generated from the rows, and `kubectl usnet explain` shows them.

mod attachment;
mod bridge;
mod engine;
mod node;
mod node_access;
mod overlay;
mod policy;
mod progress;
mod reservation;
mod spec;
mod uplink;
mod user_engine;

use crate::EngineKind;

pub use {
    attachment::*, bridge::*, engine::*, node::*, node_access::*, overlay::*, policy::*, progress::*, reservation::*,
    spec::*, uplink::*, user_engine::*,
};

/// A reason.
#[derive(Debug)]
pub struct Reason {
    /// The value in the API.
    pub name: &'static str,
    pub occurrences: &'static [Occurrence],
    /// Whether a network or uplink on a node stays as it is until an operator acts: retrying does
    /// not help.
    pub needs_operator: bool,
    /// How long it may take until the problem ends without action, in seconds; none where nothing
    /// makes it end.
    pub ends_within: Option<u32>,
    /// What to do, in plain text; empty if there is nothing to do.
    pub remedy: &'static str,
    /// What to do where it differs between the engines: with Open vSwitch, and with VPP.
    pub remedies: Option<[&'static str; 2]>,
}

impl Reason {
    /// Returns what to do with this engine, where it differs between the engines.
    pub fn remedy_of(&self, engine: EngineKind) -> Option<&'static str> {
        let [open_vswitch, vpp] = self.remedies?;
        Some(match engine {
            EngineKind::OpenVswitch => open_vswitch,
            EngineKind::Vpp => vpp,
        })
    }

    pub fn is_in(&self, place: Place) -> bool {
        self.occurrences.iter().any(|occurrence| occurrence.place == place)
    }
}

/// What a reason means in one place.
#[derive(Debug)]
pub struct Occurrence {
    pub place: Place,
    /// What has the reason there: a condition with its status (`Accepted False`), or the state of a
    /// network or uplink on a node.
    pub state: &'static str,
    /// The meaning as Markdown, without a full stop.
    pub meaning: &'static str,
}

/// Where reasons are; each has a table in `docs/errors.md`, and each reason has a heading there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The conditions of a UserspaceNetwork.
    Network,
    /// The conditions of a UserspaceAttachment.
    Attachment,
    /// The conditions of a UserspaceReservation.
    Reservation,
    /// The conditions of a UserspaceUplink.
    Uplink,
    /// The conditions of a UserspaceEngine.
    Engine,
    /// The conditions of a UserspaceNodeState.
    Node,
    /// The events of a UserspaceNodeState.
    NodeEvent,
    /// `status.networks[]` of a UserspaceNodeState.
    NetworkOnNode,
    /// `status.networks[].degraded[]` of a UserspaceNodeState.
    Interface,
    /// `status.affectedPods[]` of a UserspaceNodeState.
    AffectedPod,
    /// `status.uplinks[]` of a UserspaceNodeState.
    UplinkOnNode,
}

impl Place {
    pub const ALL: [Self; 11] = [
        Self::Network,
        Self::Attachment,
        Self::Reservation,
        Self::Uplink,
        Self::Engine,
        Self::Node,
        Self::NodeEvent,
        Self::NetworkOnNode,
        Self::Interface,
        Self::AffectedPod,
        Self::UplinkOnNode,
    ];
}

/// Declares a table of reasons: the constant and the value of each, `needs operator` or `ends
/// within` with seconds, what it means in each place, and after the arrow what to do; where it
/// differs, also with each engine.
macro_rules! reasons {
    ($table:ident; $($constant:ident = $name:literal $(needs $operator:ident)? $(ends within $seconds:literal)? {
        $($place:ident $state:literal: $meaning:literal)+
        $(=> $remedy:literal $(OVS $open_vswitch:literal VPP $vpp:literal)?)?
    })+) => {
        $(pub const $constant: &str = $name;)+

        pub(super) const $table: &[super::Reason] = &[$(super::Reason {
            name: $name,
            occurrences: &[$(super::Occurrence { place: super::Place::$place, state: $state, meaning: $meaning }),+],
            needs_operator: super::reasons!(@needs $($operator)?),
            ends_within: super::reasons!(@ends $($seconds)?),
            remedy: super::reasons!(@remedy $($remedy)?),
            remedies: super::reasons!(@remedies $($([$open_vswitch, $vpp])?)?),
        }),+];
    };
    (@needs operator) => { true };
    (@needs) => { false };
    (@ends $seconds:literal) => { Some($seconds) };
    (@ends) => { None };
    (@remedy $remedy:literal) => { $remedy };
    (@remedy) => { "" };
    (@remedies $remedies:expr) => { Some($remedies) };
    (@remedies) => { None };
}
use reasons;

pub fn all() -> impl Iterator<Item = &'static Reason> {
    let tables = [
        SPEC,
        PROGRESS,
        BRIDGE,
        OVERLAY,
        NODE_ACCESS,
        POLICY,
        UPLINK,
        ENGINE,
        NODE,
        ATTACHMENT,
        RESERVATION,
        USER_ENGINE,
    ];
    tables.into_iter().flatten()
}

pub fn find(name: &str) -> Option<&'static Reason> {
    all().find(|reason| reason.name == name)
}

/// The names of the reasons of one place.
pub fn names_of(place: Place) -> impl Iterator<Item = &'static str> {
    all().filter(move |reason| reason.occurrences.iter().any(|it| it.place == place)).map(|reason| reason.name)
}

/// Whether a network or uplink on a node stays as it is until an operator acts.
pub fn needs_operator(name: &str) -> bool {
    find(name).is_some_and(|reason| reason.needs_operator)
}

/// Whether a problem that began so many seconds ago may still end without action.
pub fn may_end_by_itself(name: &str, seconds: i64) -> bool {
    find(name).and_then(|reason| reason.ends_within).is_some_and(|within| seconds < i64::from(within))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_reason_has_one_row_and_one_form() {
        let names: Vec<&str> = all().map(|reason| reason.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for name in names {
            let is_camel_case = name.starts_with(|first: char| first.is_ascii_uppercase())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
            assert!(is_camel_case && name.len() <= crate::types::limits::REASON_MAX, "{name}");
        }
    }

    #[test]
    fn what_does_not_recover_by_itself_has_a_remedy() {
        for reason in all() {
            let is_problem = |occurrence: &Occurrence| {
                !["True", "Programmed", "Pending"].iter().any(|fine| occurrence.state.ends_with(fine))
            };
            let is_stalled = |occurrence: &Occurrence| occurrence.state.starts_with("DeletionBlocked");
            let needs_remedy = reason.occurrences.iter().any(|it| is_problem(it) || is_stalled(it));
            assert!(!needs_remedy || !reason.remedy.is_empty(), "{}", reason.name);
        }
    }

    #[test]
    fn what_ends_by_itself_does_so_for_a_limited_time_and_needs_no_operator() {
        assert!(all().all(|reason| !reason.needs_operator || reason.ends_within.is_none()));
        let is_recovering = |seconds| may_end_by_itself(ENGINE_UNREACHABLE, seconds);
        assert_eq!([-5, 59, 60].map(is_recovering), [true, true, false]);
        assert!(!may_end_by_itself(ENGINE_UNSUITABLE, 0) && !may_end_by_itself("Other", 0));
    }

    #[test]
    fn each_engine_has_its_own_remedy() {
        for engine in [EngineKind::OpenVswitch, EngineKind::Vpp] {
            for reason in all() {
                let Some(remedy) = reason.remedy_of(engine) else { continue };
                let other = if engine == EngineKind::Vpp { ["ovs", "vSwitch"] } else { ["VPP", "vpp"] };
                assert!(!other.iter().any(|word| remedy.contains(word)), "{}: {remedy}", reason.name);
            }
        }
        let stalled = find(ENGINE_STALLED).and_then(|reason| reason.remedy_of(EngineKind::OpenVswitch));
        assert!(stalled.is_some_and(|remedy| remedy.contains("ovs-vswitchd")), "{stalled:?}");
    }

    /// The controller counts failures of networks and uplinks on nodes.
    #[test]
    fn what_needs_an_operator_is_the_failure_of_a_network_or_uplink_on_a_node() {
        for reason in all().filter(|reason| reason.needs_operator) {
            let is_on_node = |it: &Occurrence| [Place::NetworkOnNode, Place::UplinkOnNode].contains(&it.place);
            assert!(reason.occurrences.iter().any(|it| is_on_node(it) && it.state == "Failed"), "{}", reason.name);
        }
        assert!(needs_operator(BRIDGE_CONFLICT) && !needs_operator(ENGINE_UNREACHABLE) && !needs_operator("Other"));
    }
}
