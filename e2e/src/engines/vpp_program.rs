//! Which VPP the nodes run: a real one or the simulator.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which VPP the nodes of a test bed run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VppProgram {
    /// A real one.
    Real(PathBuf),
    /// The simulator, which moves no packets.
    Simulator,
}

impl VppProgram {
    /// The VPP that `USNET_VPP` names or that is on PATH, else the simulator, also when `USNET_VPP`
    /// is set to nothing.
    #[must_use]
    pub fn find() -> Self {
        usnet_test_vpp::program().map_or(Self::Simulator, Self::Real)
    }

    /// `real` or `simulator`, for the command that runs in the test bed.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Real(_) => "real",
            Self::Simulator => "simulator",
        }
    }

    /// The program that talks to its command line, next to it.
    #[must_use]
    pub fn vppctl(&self) -> Option<PathBuf> {
        match self {
            Self::Real(program) => Some(program.with_file_name("vppctl")).filter(|vppctl| vppctl.is_file()),
            Self::Simulator => None,
        }
    }
}
