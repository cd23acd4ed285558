//! The images of a test bed, built from programs of this machine.

pub mod archives;
pub mod error;
mod guest;
pub mod names;
pub mod openvswitch;
pub mod virtual_machine;
pub mod vpp;
