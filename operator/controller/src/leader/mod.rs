//! Leader election: the holder of one Lease (`coordination.k8s.io/v1`, as Kubernetes' own
//! controllers use) writes.
//!
//! [`decide`] plans the next step from the observed lease. [`lease`] carries it out. The holder may
//! write for a limited time, which the [`fence`] enforces: every write goes through a client that
//! checks the fence right before it is sent. A controller that was stopped, or cut off from the API
//! server, therefore writes nothing once another replica may have become the leader:
//!
//! ```text
//! 0 s   the leader sends a renewal; all times count from here, on a clock that includes suspend
//! 5 s   without another renewal it stops writing           LEASE_DURATION - FENCE_MARGIN
//! 9 s   requests that it sent by then have timed out       + REQUEST_TIMEOUT
//! 10 s  another may take over, from its observed renewal   LEASE_DURATION
//! ```
//!
//! One gap remains: a process that is stopped between the fence and the socket may send one request
//! when it continues. The next evaluation of the new leader corrects its effect.

mod boot_clock;
mod decide;
mod fence;
mod lease;
mod timing;

pub use fence::Fence;
pub use lease::{Elector, Role};
pub use timing::REQUEST_TIMEOUT;
