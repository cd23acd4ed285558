//! What is measured on: the programs, a node with one engine, namespaces of our own, and a disk
//! that is busy.

pub(crate) mod busy_disk;
pub(crate) mod existing_ports;
pub(crate) mod namespaces;
pub(crate) mod node;
pub(crate) mod programs;
