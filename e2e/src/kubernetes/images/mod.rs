//! The images of a test bed, made from what is on this machine.

pub mod archive;
pub mod archives;
pub mod libraries;
pub mod names;
