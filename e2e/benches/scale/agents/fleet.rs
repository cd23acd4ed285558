//! The agents of a cluster, simulated or real.

use super::protocol::{Attachment, Stats};
use super::simulated::Simulated;
use crate::real_agents::RealAgents;
use kube::Client;

/// The agents of a cluster.
pub(crate) enum Fleet {
    /// None yet.
    None,
    /// Those of this module.
    Simulated(Simulated),
    /// `usnet agent`.
    Real(RealAgents),
}

impl Fleet {
    pub(crate) fn processes(&self) -> Vec<u32> {
        match self {
            Self::None => Vec::new(),
            Self::Simulated(agents) => vec![agents.process()],
            Self::Real(agents) => agents.processes(),
        }
    }

    /// Waits until every agent has reported this resourceVersion; says whether it came to that.
    pub(crate) async fn wait_for(&mut self, version: u64, admin: &Client) -> bool {
        match self {
            Self::None => true,
            Self::Simulated(agents) => agents.wait_for(version),
            Self::Real(agents) => agents.wait_for(version, admin).await,
        }
    }

    /// Starts pods, and waits until their agents have reported them.
    pub(crate) fn attach(&mut self, attachments: Vec<Attachment>) -> Stats {
        match self {
            Self::Simulated(agents) => agents.attach(attachments),
            Self::None | Self::Real(_) => panic!("only simulated agents have pods"),
        }
    }
}
