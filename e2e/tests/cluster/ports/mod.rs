//! Packets over every type of port.

mod mixed;
mod traffic;
mod veth;
mod vpp_traffic;
