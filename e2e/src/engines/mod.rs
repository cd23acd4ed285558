//! Open vSwitch and VPP on the nodes.

pub mod open_vswitch;
pub mod selection;
pub mod vpp;
pub mod vpp_program;
