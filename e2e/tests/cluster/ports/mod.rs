//! Packets over every type of port.

mod mixed;
mod traffic;
mod unconnected;
mod veth;
mod vpp_traffic;
