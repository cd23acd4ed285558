//! The state of one attachment between two passes. No IO.

use super::report::Failure;
use std::time::{Duration, Instant};
use usnet_common::backoff::Backoff;
use usnet_dataplane::attachment::{Pod, PodUid};

/// First delay before a failed call is repeated. A pod that starts has its sandbox within a second
/// or two.
pub(super) const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest delay: half a minute after the cause of a failure is removed, the call succeeds.
pub(super) const LONGEST_RETRY: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    Attach,
    Detach,
}

/// One attachment. It exists as long as it is requested or attached.
#[derive(Debug)]
pub(super) struct Attachment {
    pub(super) pod: PodUid,
    /// The namespace of the pod, which has a share of the calls.
    pub(super) namespace: String,
    /// The name of the object for users, or the interface and pod while only a record is known.
    pub(super) object: String,
    /// When it was first requested, or found in the journal.
    since: Instant,
    /// Since when it is no longer requested.
    pub(super) unrequested: Option<Instant>,
    pub(super) in_flight: Option<CallKind>,
    pub(super) failure: Option<Failure>,
    pub(super) backoff: Backoff,
    pub(super) retry_at: Option<Instant>,
}

impl Attachment {
    pub(super) fn new(pod: &Pod, object: String, now: Instant) -> Self {
        Self {
            pod: pod.uid.clone(),
            namespace: pod.namespace.clone(),
            object,
            since: now,
            unrequested: None,
            in_flight: None,
            failure: None,
            backoff: Backoff::new(FIRST_RETRY, LONGEST_RETRY),
            retry_at: None,
        }
    }

    pub(super) fn failed(&mut self, failure: Failure, now: Instant) {
        if self.failure.as_ref() != Some(&failure) {
            tracing::warn!(attachment = self.object, reason = failure.reason, "{}; retrying", failure.message);
        }
        self.failure = Some(failure);
        self.retry_at = Some(now + self.backoff.wait());
    }

    pub(super) fn succeeded(&mut self) {
        self.backoff.reset();
        (self.failure, self.retry_at) = (None, None);
    }

    /// Since when a call is due. The call that is due longest gets the next free slot.
    pub(super) fn due(&self) -> Instant {
        self.retry_at.or(self.unrequested).unwrap_or(self.since)
    }
}
