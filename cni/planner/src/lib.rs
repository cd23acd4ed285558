//! What the engines of a node should have and have, and the operations in between. No IO.
//!
//! - [`model`]: the values, above all [`desired`](model::desired) and [`observed`](model::observed)
//!   state, and the records of [`attachment`](model::attachment)s;
//! - [`plan`]: the diff of both states, as operations;
//! - [`legacy`]: file names, annotation and ports of Intel's userspace CNI.

pub mod legacy;
pub mod model;
pub mod plan;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
