//! The images of a test bed, built from programs of this machine.

pub mod archives;
pub mod error;
mod guest;
pub mod libraries;
pub mod names;
pub mod virtual_machine;
