//! The images of a test bed, made from what is on this machine.

pub mod archives;
pub mod error;
mod guest;
pub mod libraries;
pub mod names;
pub mod virtual_machine;
