//! The reconcile loop of one engine. Each engine has its own [`reconciler`], so that one that hangs
//! or is down never delays the other; [`wake`] says when it works.
//!
//! One reconcile ([`reconcile_once`]) has these steps. Their order keeps pods connected:
//!
//! 1. Observe (IO): the engine through its watcher, then the journal ([`journal_snapshot`], IO). A
//!    record is written before its port is created, so that a port that was observed without a
//!    record has none.
//! 2. [`plan`]: the operations, once from what was observed, and again from the records as they are
//!    under their locks ([`attachment_locks`], IO): a DEL or ADD may have run in between.
//! 3. [`publish`](mod@publish) (IO): network files withdraw what the operations are about to
//!    interrupt, before they do.
//! 4. [`apply`] (IO): the operations.
//! 5. Observe (IO) again, unless there was nothing to do.
//! 6. [`verify`]: the health of each network. Only now files may say that a network is programmed.
//! 7. [`crate::agent::report`]: the result, which the reconciler hands on.
//!
//! [`agent_state`] is what the reconcilers share.

pub(crate) mod agent_state;
mod apply;
mod attachment_locks;
pub(crate) mod journal_snapshot;
mod outcome;
mod plan;
pub(crate) mod publish;
mod reconcile_once;
mod reconciler;
mod verify;
mod wake;

pub(crate) use reconciler::EngineReconciler;
