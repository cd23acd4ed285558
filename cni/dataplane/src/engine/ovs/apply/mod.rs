//! Applying a list of operations: in one transaction if there is no conflict.
//!
//! The first transaction of a list reads nothing, if its operations can be guarded without that.
//! Otherwise, and on a conflict, rows are read: those of the operations if they are few, all of
//! them if that does not suffice. Each operation is then planned on its own; those that have no
//! effect any more or cannot be applied are left out, and the rest is retried. If the database
//! still rejects the transaction without naming the operation that failed, the list is bisected.
//!
//! `session` and `legacy` (removes a port of Intel's userspace CNI) perform IO; `batch` (one
//! transaction, and which operation made it fail), `tag` (its part for what Intel's userspace CNI
//! created) and `verify` (whether the switch applied it) do not.

mod batch;
mod legacy;
mod session;
mod tag;
#[cfg(test)]
mod tests;
mod verify;

pub(super) use legacy::remove_legacy_port;
pub(super) use session::{apply, commit, complete};
