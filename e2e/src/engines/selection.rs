//! Which engines the nodes of a test bed run.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What `--engine` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
pub enum Engines {
    /// Open vSwitch with DPDK.
    Ovs,
    /// VPP: the one that USNET_VPP names or that is on PATH, else the simulator of its binary API
    /// (USNET_VPP= for that in any case).
    Vpp,
    /// Both, side by side on each node.
    Both,
}

impl Engines {
    /// Whether Open vSwitch is one of them.
    #[must_use]
    pub fn have_open_vswitch(self) -> bool {
        matches!(self, Self::Ovs | Self::Both)
    }

    /// Whether VPP is one of them.
    #[must_use]
    pub fn have_vpp(self) -> bool {
        matches!(self, Self::Vpp | Self::Both)
    }

    /// Their names in a sentence.
    #[must_use]
    pub fn names(self) -> &'static str {
        match self {
            Self::Ovs => "Open vSwitch",
            Self::Vpp => "VPP",
            Self::Both => "Open vSwitch and VPP",
        }
    }
}
