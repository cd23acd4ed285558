//! Which of several controllers writes: the holder of one Lease (`coordination.k8s.io/v1`, the object that Kubernetes' own controllers use).
//!
//! [`decide`] says what to do about the lease as it was last seen. [`lease`] does it. Whoever holds the lease may write for a while, which the
//! [`fence`] measures: every write goes through a client that asks the fence right before it is sent. So a controller that was stopped, or cut off
//! from the API server, writes nothing once another may have taken over:
//!
//! ```text
//! 0 s     the leader asks to renew; from here on all is counted, on a clock that also runs while the machine sleeps
//! 5 s     without another renewal it writes no more                     LEASE - MARGIN
//! 9 s     and what it had sent by then is given up                      + REQUEST_TIMEOUT
//! 10 s    another may take over, counted from when it saw the renewal   LEASE
//! ```
//!
//! What is left is a process that is stopped between the fence and the socket: it may send one request when it goes on, which the next pass of the new
//! leader puts right.

mod boot_clock;
mod decide;
mod fence;
mod lease;

pub(crate) use fence::is_closed;
pub use fence::{Closed, Fence};
pub use lease::{Elector, Role};

use std::time::Duration;

/// The name of the Lease, in the controller's namespace.
pub const LEASE_NAME: &str = "usnet-controller";
/// How long others wait for a holder that renews no more.
const LEASE_DURATION: Duration = Duration::from_secs(10);
/// So long before the lease ends its holder stops to write.
const FENCE_MARGIN: Duration = Duration::from_secs(5);
/// The longest that a write may take. It ends within the margin.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);
/// How often the holder renews.
const RENEW_INTERVAL: Duration = Duration::from_secs(2);
/// How often the others look.
const RETRY_PERIOD: Duration = Duration::from_secs(1);

const _: () =
    assert!(REQUEST_TIMEOUT.as_secs() < FENCE_MARGIN.as_secs() && FENCE_MARGIN.as_secs() < LEASE_DURATION.as_secs());
const _: () = assert!(
    2 * RENEW_INTERVAL.as_secs() < LEASE_DURATION.as_secs() - FENCE_MARGIN.as_secs(),
    "two tries while it may write"
);
