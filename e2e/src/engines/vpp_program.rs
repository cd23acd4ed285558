//! The VPP that the nodes run: the real program or the simulator.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VppProgram {
    /// The real program.
    Real(PathBuf),
    /// The simulator, which moves no packets.
    Simulator,
}

impl VppProgram {
    /// Finds the VPP that `USNET_VPP` names or that is on PATH. Without one, or with an empty
    /// `USNET_VPP`, it is the simulator.
    #[must_use]
    pub fn find() -> Self {
        usnet_test_vpp::program().map_or(Self::Simulator, Self::Real)
    }

    /// Returns `real` or `simulator`, for the user's command.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Real(_) => "real",
            Self::Simulator => "simulator",
        }
    }

    /// Returns `vppctl`, which is beside the program.
    #[must_use]
    pub fn vppctl(&self) -> Option<PathBuf> {
        match self {
            Self::Real(program) => Some(program.with_file_name("vppctl")).filter(|vppctl| vppctl.is_file()),
            Self::Simulator => None,
        }
    }
}
