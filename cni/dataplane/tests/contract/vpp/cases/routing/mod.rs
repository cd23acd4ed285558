//! Gateways and routing domains, on bridges and with memifs in IP mode.

pub(in crate::vpp) mod floods;
pub(in crate::vpp) mod gateways;
pub(in crate::vpp) mod neighbours;
pub(in crate::vpp) mod packets;
pub(in crate::vpp) mod routed_packets;
pub(in crate::vpp) mod routed_ports;
