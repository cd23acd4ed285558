//! The times of the election.

use std::time::Duration;

/// The name of the Lease, in the controller's namespace.
pub const LEASE_NAME: &str = "usnet-controller";
/// How long others wait for a holder that stopped renewing: the time without a leader after a
/// crash. A shorter one would change the leader at each short outage of the API server.
pub(super) const LEASE_DURATION: Duration = Duration::from_secs(10);
/// The holder stops writing this long before the lease expires, so that its last request has timed
/// out before another replica may write. A longer margin leaves less time to renew.
pub(super) const FENCE_MARGIN: Duration = Duration::from_secs(5);
/// The timeout of a write. It must be shorter than the margin: a request that is still in flight
/// when another replica writes could overwrite newer state.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);
/// The interval of renewals: two attempts fit before the fence closes, so that one failed request
/// does not stop the writes.
pub(super) const RENEW_INTERVAL: Duration = Duration::from_secs(2);
/// The interval at which standbys read the lease. It adds to the time without a leader.
pub(super) const RETRY_PERIOD: Duration = Duration::from_secs(1);

const _: () =
    assert!(REQUEST_TIMEOUT.as_secs() < FENCE_MARGIN.as_secs() && FENCE_MARGIN.as_secs() < LEASE_DURATION.as_secs());
const _: () = assert!(
    2 * RENEW_INTERVAL.as_secs() < LEASE_DURATION.as_secs() - FENCE_MARGIN.as_secs(),
    "two attempts before the fence closes"
);
