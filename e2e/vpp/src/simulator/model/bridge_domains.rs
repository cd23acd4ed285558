//! Bridge domains and their members.

use std::collections::BTreeMap;
use usnet_vpp::messages::BdFlags;
use usnet_vpp::wire::FixedText;

/// What a bridge domain does whatever its flags say, as bits of VPP's features.
const CONSTANT_FEATURES: u32 = 0xffff_fd03;

/// Bridge domains by id. Domain 0 is where frames end that belong nowhere.
#[derive(Debug, Default)]
pub(crate) struct BridgeDomains(pub(crate) BTreeMap<u32, BridgeDomain>);

/// How many addresses a bridge domain learns unless it was set.
const LEARN_LIMIT: u32 = 16_777_216;

/// One bridge domain.
#[derive(Debug)]
pub(crate) struct BridgeDomain {
    pub(crate) flags: u32,
    /// In minutes.
    pub(crate) mac_age: u8,
    pub(crate) learn_limit: u32,
    pub(crate) tag: FixedText<64>,
    /// In the order in which they came.
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
    /// One that was made by the way.
    pub(crate) fn by_default() -> Self {
        let flags = BdFlags::LEARN | BdFlags::FWD | BdFlags::FLOOD | BdFlags::UU_FLOOD;
        Self { flags: flags.0, ..Self::default() }
    }

    /// The flags as bits of VPP's features.
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
