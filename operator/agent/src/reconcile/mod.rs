//! The reconcile loop of one engine. Each engine has its own, so that one that hangs or is down
//! never delays the other.
//!
//! [`schedule`] decides when the [`reconciler`] runs. One reconcile has these steps, whose order
//! keeps pods connected:
//!
//! 1. Observe (IO): the engine ([`observer`]), then the [`journal`]. The plugin writes a record
//!    before it creates the port. In the other order, a port created in between would seem to have
//!    no record, and would be deleted. A new spec alone is planned on the last observation, if that
//!    still holds. Pods of the legacy plugin get records ([`taken_over`]).
//! 2. [`links`] (IO): missing VXLAN devices of networks are created, and NICs are prepared. They
//!    become ports of the engine afterwards.
//! 3. [`plan`]: the operations. Planned once to know which attachments to lock (IO), and again with
//!    their records read under the locks: an ADD or DEL may have changed them meanwhile.
//! 4. [`publish`](mod@publish) (IO): network files no longer offer what is about to be interrupted.
//!    If they were changed later, a pod could be attached to a bridge that is being deleted.
//! 5. [`apply`] (IO): the operations, first removals, then bridges, then ports.
//! 6. Observe (IO) what the operations were to change: an engine may accept an operation and not
//!    carry it out.
//! 7. [`verify`]: the health of each network. Only now may network files say that a network is
//!    programmed (IO), and records of detached attachments are removed (IO).
//! 8. [`links`] (IO): devices that are no ports any more are deleted.
//! 9. [`crate::report`]: the result of the engine, and the history (IO).
//!
//! [`agent_state`] is what the reconcilers share.

pub(crate) mod agent_state;
mod apply;
mod gateway_holds;
pub(crate) mod journal;
mod links;
mod observer;
mod plan;
pub(crate) mod publish;
mod reconciler;
pub(crate) mod schedule;
mod steps;
mod taken_over;
mod verify;
