//! Requirements on the machine, and the start, isolation and observation of processes.

pub mod cgroups;
pub mod command;
pub mod component;
pub(crate) mod cpio;
pub mod namespaces;
pub mod probes;
pub mod requirements;
pub mod wait;
