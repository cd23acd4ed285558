//! Policers by name, and whether any was ever used.

use crate::simulator::model::pool::Pool;
use usnet_vpp::messages::PolicerAddDel;
use usnet_vpp::wire::FixedText;

/// The policers in the order of their indexes.
#[derive(Debug, Default)]
pub(crate) struct Policers {
    pub(crate) policers: Pool<PolicerAddDel>,
    /// Whether any interface ever had a policer, for input and for output. VPP writes to address 0
    /// if one is removed before.
    pub(crate) was_used: [bool; 2],
}

impl Policers {
    pub(crate) fn index(&self, name: &FixedText<64>) -> Option<u32> {
        self.policers.iter().find(|(_, policer)| policer.name == *name).map(|(index, _)| index)
    }
}
