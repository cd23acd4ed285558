//! An evaluated condition, and how a new set replaces an old one.

use super::reason;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    True,
    False,
    Unknown,
}

impl Status {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Status {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// An evaluated condition, without its transition time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConditionUpdate {
    /// The type of the condition, see [`types`](super::types).
    pub kind: &'static str,
    pub status: Status,
    /// The reason, see [`reason`].
    pub reason: String,
    /// The message for users: why, and what to do.
    pub message: String,
}

impl ConditionUpdate {
    pub fn new(kind: &'static str, status: Status, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, status, reason: reason.into(), message: message.into() }
    }
}

/// The conditions that replace `old`: those of `updates` and no others. An unchanged status keeps
/// its transition time.
pub fn merge(old: &[Condition], updates: Vec<ConditionUpdate>, generation: Option<i64>, now: &Time) -> Vec<Condition> {
    let since = |update: &ConditionUpdate| {
        let same = |condition: &&Condition| {
            condition.type_ == update.kind
                && condition.status == update.status.as_str()
                // The CRD sets its time to the epoch.
                && condition.reason != reason::WAITING_FOR_CONTROLLER
        };
        old.iter().find(same).map_or_else(|| now.clone(), |condition| condition.last_transition_time.clone())
    };
    let condition = |update: ConditionUpdate| Condition {
        last_transition_time: since(&update),
        type_: update.kind.to_owned(),
        status: update.status.as_str().to_owned(),
        reason: update.reason,
        message: update.message,
        observed_generation: generation,
    };
    updates.into_iter().map(condition).collect()
}

pub fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

#[cfg(test)]
mod tests {
    use super::super::{READY, STALLED};
    use super::*;

    fn at(second: i64) -> Time {
        Time(k8s_openapi::jiff::Timestamp::from_second(second).unwrap())
    }

    fn ready(status: Status, reason: &str) -> ConditionUpdate {
        ConditionUpdate::new(READY, status, reason, "text")
    }

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let first = merge(&[], vec![ready(Status::False, "A")], Some(1), &at(10));
        let second = merge(&first, vec![ready(Status::False, "B")], Some(2), &at(20));
        assert_eq!((second[0].last_transition_time.clone(), second[0].reason.as_str()), (at(10), "B"));
        assert_eq!(second[0].observed_generation, Some(2));
        let third = merge(&second, vec![ready(Status::True, "B")], Some(2), &at(30));
        assert_eq!(third[0].last_transition_time, at(30));
    }

    #[test]
    fn conditions_without_an_update_are_removed() {
        let old = merge(
            &[],
            vec![ready(Status::True, "A"), ConditionUpdate::new(STALLED, Status::True, "B", "")],
            None,
            &at(1),
        );
        let new = merge(&old, vec![ready(Status::True, "A")], None, &at(2));
        assert_eq!(new, old[..1]);
    }
}
