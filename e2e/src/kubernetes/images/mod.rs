//! The images of a world, made from what is on this machine.

pub mod archive;
pub mod archives;
pub mod libraries;
pub mod names;
