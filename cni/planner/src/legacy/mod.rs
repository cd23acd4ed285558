//! What is shared with Intel's userspace CNI: the [`annotation`] that its applications read, and
//! its [`port`]s. No IO.

pub mod annotation;
pub mod port;
