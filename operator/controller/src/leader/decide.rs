//! Plans the next step of the election. Pure; time is passed in.

use std::time::Duration;

/// The longest duration of a lease that is respected. A longer one was not written by usnet, and
/// would leave the cluster without a leader for that time.
const LEASE_DURATION_MAX: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeaseSnapshot {
    /// The holder; none when it was released.
    pub(super) holder: Option<String>,
    /// How long the lease is valid without a renewal.
    pub(super) duration: Duration,
    /// The resourceVersion, which changes with every renewal.
    pub(super) version: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// There is no lease: create and hold it.
    Create,
    /// The lease is free or expired: acquire it.
    Acquire,
    /// This process holds the lease: renew it.
    Renew,
    /// Another replica holds the lease.
    Wait,
}

/// The next step of `identity`. `is_holding`: this process acquired the lease, and not an earlier
/// process of the same pod, which has ended.
pub(super) fn decide(
    lease: Option<&LeaseSnapshot>,
    unchanged_for: Duration,
    identity: &str,
    is_holding: bool,
) -> Decision {
    let Some(lease) = lease else { return Decision::Create };
    match lease.holder.as_deref() {
        None | Some("") => Decision::Acquire,
        Some(holder) if holder == identity => {
            if is_holding {
                Decision::Renew
            } else {
                Decision::Acquire
            }
        }
        Some(_) if unchanged_for >= lease.duration.min(LEASE_DURATION_MAX) => Decision::Acquire,
        Some(_) => Decision::Wait,
    }
}

/// When the lease changed last, by the local clock: clocks of two machines are never compared.
#[derive(Debug, Default)]
pub(super) struct LeaseObservation {
    version: String,
    since: Duration,
}

impl LeaseObservation {
    /// Records the version observed at `now`; returns how long it has been unchanged.
    pub(super) fn observe(&mut self, version: &str, now: Duration) -> Duration {
        if self.version != version {
            *self = Self { version: version.to_owned(), since: now };
        }
        now.saturating_sub(self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Duration = Duration::from_secs(10);

    fn lease(holder: Option<&str>) -> LeaseSnapshot {
        LeaseSnapshot { holder: holder.map(str::to_owned), duration: TEN, version: "1".to_owned() }
    }

    fn decision(holder: Option<&str>, unchanged_for: u64, is_holding: bool) -> Decision {
        decide(Some(&lease(holder)), Duration::from_secs(unchanged_for), "a", is_holding)
    }

    #[test]
    fn a_free_lease_is_acquired() {
        assert_eq!(decide(None, Duration::ZERO, "a", false), Decision::Create);
        assert_eq!(decision(None, 0, false), Decision::Acquire);
        assert_eq!(decision(Some(""), 0, false), Decision::Acquire);
    }

    #[test]
    fn the_lease_of_another_is_acquired_only_after_its_expiry() {
        assert_eq!(decision(Some("b"), 0, false), Decision::Wait);
        assert_eq!(decision(Some("b"), 9, true), Decision::Wait, "it was lost");
        assert_eq!(decision(Some("b"), 10, false), Decision::Acquire);
    }

    #[test]
    fn the_own_lease_is_renewed_also_after_its_expiry() {
        assert_eq!(decision(Some("a"), 0, true), Decision::Renew);
        assert_eq!(decision(Some("a"), 99, true), Decision::Renew, "no other replica acquired it");
    }

    #[test]
    fn a_new_process_of_the_same_pod_acquires_the_lease_at_once() {
        assert_eq!(decision(Some("a"), 0, false), Decision::Acquire);
    }

    #[test]
    fn a_lease_with_an_excessive_duration_is_limited() {
        let endless = LeaseSnapshot { duration: Duration::from_secs(1 << 30), ..lease(Some("b")) };
        assert_eq!(decide(Some(&endless), Duration::from_secs(59), "a", false), Decision::Wait);
        assert_eq!(decide(Some(&endless), Duration::from_secs(60), "a", false), Decision::Acquire);
    }

    #[test]
    fn a_renewal_restarts_the_wait() {
        let mut observation = LeaseObservation::default();
        let at = Duration::from_secs;
        assert_eq!(observation.observe("1", at(100)), at(0), "a lease that is first seen may be fresh");
        assert_eq!(observation.observe("1", at(109)), at(9));
        assert_eq!(observation.observe("2", at(110)), at(0));
        assert_eq!(observation.observe("2", at(121)), at(11));
    }
}
