//! What the test bed needs of the machine, and what starts, confines and watches processes on it.

pub mod cgroups;
pub mod command;
pub mod component;
pub mod namespaces;
pub mod probes;
pub mod requirements;
pub mod wait;
