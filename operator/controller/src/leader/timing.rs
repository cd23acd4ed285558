//! The times of the election.

use std::time::Duration;

/// How long others wait for a holder that stopped renewing: the time without a leader after a
/// crash. A shorter one would change the leader at each short outage of the API server.
pub(super) const LEASE_DURATION: Duration = Duration::from_secs(10);
/// The holder stops writing this long before the lease expires, so that its last request has timed
/// out before another replica may write. A longer margin leaves less time to renew.
pub(super) const FENCE_MARGIN: Duration = Duration::from_secs(5);
/// The timeout of a write. It must be shorter than the margin: a request that is still in flight
/// when another replica writes could overwrite newer state.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);
/// The timeout of a request for the lease: two attempts fit before the fence closes, so that one
/// failed request does not stop the writes. An API server that takes longer for each response has
/// no leader; a longer timeout would leave no time for the second attempt.
pub(super) const LEASE_REQUEST_TIMEOUT: Duration = Duration::from_millis(2400);
/// The interval from the start of one renewal to the start of the next. A renewal that takes longer
/// is followed at once.
pub(super) const RENEW_INTERVAL: Duration = Duration::from_secs(2);
/// The interval at which standbys read the lease. It adds to the time without a leader.
pub(super) const RETRY_PERIOD: Duration = Duration::from_secs(1);

const _: () =
    assert!(REQUEST_TIMEOUT.as_secs() < FENCE_MARGIN.as_secs() && FENCE_MARGIN.as_secs() < LEASE_DURATION.as_secs());
const _: () = assert!(
    RENEW_INTERVAL.as_millis() < LEASE_REQUEST_TIMEOUT.as_millis()
        && 2 * LEASE_REQUEST_TIMEOUT.as_millis() < LEASE_DURATION.as_millis() - FENCE_MARGIN.as_millis(),
    "two attempts before the fence closes"
);
