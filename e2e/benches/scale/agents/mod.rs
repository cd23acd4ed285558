//! Agents without nodes, all in one process so that its CPU time is counted apart. Each has a token and connections of its own, watches what a real agent
//! watches, selects by the same function, and reports as sparsely and as calmly.
//!
//! The benchmark starts this program once more ([`process`]) and talks to it in lines of JSON ([`protocol`]).

mod agent;
mod known;
mod pace;
pub(crate) mod process;
pub(crate) mod protocol;
mod silent;
mod simulated;

pub(crate) use simulated::Simulated;

use crate::real_agents::RealAgents;
use kube::Client;
use protocol::{Attachment, Stats};

/// The first argument of the process of agents.
pub(crate) const ROLE: &str = "internal-agents";

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
