//! When a reconcile runs: one loop for each engine ([`reconcilers`]), which waits for a reason to
//! work ([`wake`]), lets the reconciler work, and hands on its result ([`reconcile_loop`]).

mod reconcile_loop;
pub(crate) mod reconcilers;
pub(super) mod wake;
