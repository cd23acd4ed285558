//! The engines that the nodes of a test bed run.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The values of `--engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
pub enum Engines {
    /// Open vSwitch with DPDK.
    Ovs,
    /// VPP: the program that USNET_VPP names or that is on PATH, else the simulator of its binary
    /// API, which `USNET_VPP=` forces.
    Vpp,
    /// Both, side by side on each node.
    Both,
}

impl Engines {
    #[must_use]
    pub fn have_open_vswitch(self) -> bool {
        matches!(self, Self::Ovs | Self::Both)
    }

    #[must_use]
    pub fn have_vpp(self) -> bool {
        matches!(self, Self::Vpp | Self::Both)
    }

    /// Returns the names of the engines for a sentence.
    #[must_use]
    pub fn names(self) -> &'static str {
        match self {
            Self::Ovs => "Open vSwitch",
            Self::Vpp => "VPP",
            Self::Both => "Open vSwitch and VPP",
        }
    }
}
