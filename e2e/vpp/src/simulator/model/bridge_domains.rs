//! Bridge domains and their members.

use std::collections::BTreeMap;
use usnet_vpp::messages::BdFlags;
use usnet_vpp::wire::FixedText;

/// The features that a bridge domain has regardless of its flags, as bits.
const CONSTANT_FEATURES: u32 = 0xffff_fd03;

/// The bridge domains by id. Domain 0 drops all frames.
#[derive(Debug, Default)]
pub(crate) struct BridgeDomains(pub(crate) BTreeMap<u32, BridgeDomain>);

/// The number of MAC addresses that a bridge domain learns by default.
const LEARN_LIMIT: u32 = 16_777_216;

#[derive(Debug)]
pub(crate) struct BridgeDomain {
    pub(crate) flags: u32,
    /// The age in minutes.
    pub(crate) mac_age: u8,
    pub(crate) learn_limit: u32,
    pub(crate) tag: FixedText<64>,
    /// Members are in the order in which they were added.
    pub(crate) members: Vec<u32>,
    pub(crate) bvi: Option<u32>,
    pub(crate) uu_fwd: Option<u32>,
}

impl Default for BridgeDomain {
    fn default() -> Self {
        Self {
            flags: 0,
            mac_age: 0,
            learn_limit: LEARN_LIMIT,
            tag: FixedText::default(),
            members: Vec::new(),
            bvi: None,
            uu_fwd: None,
        }
    }
}

impl BridgeDomain {
    /// Returns a domain that VPP creates because an interface is added to it.
    pub(crate) fn by_default() -> Self {
        let flags = BdFlags::LEARN | BdFlags::FWD | BdFlags::FLOOD | BdFlags::UU_FLOOD;
        Self { flags: flags.0, ..Self::default() }
    }

    /// Returns the flags as bits of VPP's features.
    pub(crate) fn features(&self) -> u32 {
        let bits = [
            (BdFlags::FLOOD, 0x4),
            (BdFlags::ARP_UFWD, 0x8),
            (BdFlags::ARP_TERM, 0x10),
            (BdFlags::UU_FLOOD, 0x20),
            (BdFlags::FWD, 0x80),
            (BdFlags::LEARN, 0x200),
        ];
        let set = bits.iter().filter(|(flag, _)| BdFlags(self.flags).contains(*flag));
        set.fold(CONSTANT_FEATURES, |features, (_, bit)| features | bit)
    }

    pub(crate) fn remove(&mut self, sw_if_index: u32) {
        self.members.retain(|member| *member != sw_if_index);
        self.bvi = self.bvi.filter(|bvi| *bvi != sw_if_index);
        self.uu_fwd = self.uu_fwd.filter(|uu_fwd| *uu_fwd != sw_if_index);
    }
}
