//! The inputs of a status.

use super::tally::Tally;
use crate::cache::Network;
use crate::cache::nads::Availability;
use crate::compile::Stage;
use crate::compile::nads::NadProgress;

/// Results of the other steps for a network.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'a> {
    /// Whether the compiled network is not up to date.
    pub is_outdated: bool,
    /// Why the API server rejects the compiled network.
    pub rejection: Option<&'a str>,
    /// The progress of the NADs; none before they were counted.
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
    /// Whether a network that is being deleted has the bridge.
    pub(super) has_leaving_rival: bool,
}

impl StatusInputs<'_> {
    /// Whether the problem that keeps the network from its nodes ends without user action.
    pub(super) fn will_end(&self) -> bool {
        match self.stage {
            Stage::Rejected { will_end, .. } => will_end,
            _ => self.has_leaving_rival && self.tally.has_conflicts_only(),
        }
    }
}
