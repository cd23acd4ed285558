//! Bridge domains.

use crate::model::bridge_settings::BridgeSettings;
use std::collections::BTreeMap;
use usnet_crds::NetworkName;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct BridgeDomain {
    pub(in crate::engine::vpp) owner: Option<NetworkName>,
    pub(in crate::engine::vpp) is_tagged: bool,
    pub(in crate::engine::vpp) forwards: bool,
    pub(in crate::engine::vpp) has_supported_datapath: bool,
    pub(in crate::engine::vpp) settings: BridgeSettings,
    /// The interfaces by index, with their split-horizon groups; 0 is none.
    pub(in crate::engine::vpp) members: BTreeMap<u32, u8>,
    /// The interface by which a network has it that took it over. It is no member here.
    pub(in crate::engine::vpp) marker: Option<u32>,
}

impl BridgeDomain {
    /// Applies the mark of a network: it counts as if the bridge domain had a tag.
    pub(super) fn mark(&mut self, network: NetworkName, marker: u32) {
        (self.owner, self.is_tagged, self.marker) = (Some(network), true, Some(marker));
        self.members.remove(&marker);
    }
}
