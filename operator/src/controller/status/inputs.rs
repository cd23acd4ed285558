//! The inputs of a status.

use super::tally::Tally;
use crate::controller::cache::Network;
use crate::controller::cache::nads::Availability;
use crate::controller::compile::Stage;
use crate::controller::compile::nads::NadProgress;

/// Results of the other steps for a network.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'a> {
    /// The compiled network is not up to date.
    pub is_outdated: bool,
    /// Why the API server rejects its compiled network.
    pub rejection: Option<&'a str>,
    /// The progress of its NADs; none before they were counted.
    pub nads: Option<&'a NadProgress>,
}

/// The inputs of a status.
#[derive(Debug)]
pub(super) struct StatusInputs<'a> {
    pub(super) name: &'a str,
    pub(super) network: &'a Network,
    pub(super) stage: Stage<'a>,
    pub(super) facts: Facts<'a>,
    pub(super) availability: Availability,
    pub(super) tally: Tally,
    /// The networks that are refused on nodes because this one has their bridge.
    pub(super) refused_rivals: Vec<&'a str>,
    /// Another network, which is being deleted, has the bridge.
    pub(super) has_leaving_rival: bool,
}

impl StatusInputs<'_> {
    /// Whether what keeps the network from its nodes ends without anybody.
    pub(super) fn will_end(&self) -> bool {
        match self.stage {
            Stage::Rejected { will_end, .. } => will_end,
            _ => self.has_leaving_rival && self.tally.has_conflicts_only(),
        }
    }
}
