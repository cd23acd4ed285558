//! Bridge domains.

use std::collections::BTreeSet;
use usnet_crds::NetworkName;

/// A bridge domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct BridgeDomain {
    pub(in crate::engine::vpp) owner: Option<NetworkName>,
    pub(in crate::engine::vpp) is_tagged: bool,
    pub(in crate::engine::vpp) learns: bool,
    pub(in crate::engine::vpp) forwards: bool,
    /// Whether it forwards and floods and does not answer ARP, as the bridge domains of usnet.
    pub(in crate::engine::vpp) has_supported_datapath: bool,
    pub(in crate::engine::vpp) mac_age_minutes: u8,
    pub(in crate::engine::vpp) members: BTreeSet<u32>,
}
