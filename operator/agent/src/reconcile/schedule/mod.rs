//! When a reconcile runs. Each engine has a loop ([`reconcilers`]) that waits for a trigger
//! ([`wake`]), runs the reconciler, and passes its result on ([`reconcile_loop`]).

mod reconcile_loop;
pub(crate) mod reconcilers;
pub(super) mod wake;
