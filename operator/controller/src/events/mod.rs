//! Kubernetes Events (`events.k8s.io/v1`): what happened; the status holds the current state.
//!
//! 1. [`record`]: one event; which transitions of conditions of networks and uplinks are reported;
//!    and of attachments ([`attachments`]), pods ([`affected_pods`](mod@affected_pods)) and engines
//!    ([`engines`]);
//! 2. [`reported_conditions`]: reports each transition once;
//! 3. [`publish`](mod@publish) (IO): a separate task sends them, and nothing waits for it.

mod affected_pods;
mod attachments;
mod engines;
#[cfg(feature = "run")]
mod publish;
mod record;
mod reported_conditions;

pub use affected_pods::affected_pods;
pub use attachments::degraded;
pub use engines::engine_ends;
#[cfg(feature = "run")]
pub use publish::{EventReceiver, EventRecorder, publish, queue};
pub use record::{EventRecord, EventType, network_reference, transitions};
pub use reported_conditions::ReportedConditions;
