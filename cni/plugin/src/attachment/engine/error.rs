//! The error of an operation of an engine.

use crate::protocol::error::ErrorCode;
use usnet_dataplane::engine::{EngineError, OpError};

#[derive(Debug, thiserror::Error)]
pub enum EngineClientError {
    /// The engine is not usable. The result of the operation is unknown.
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Operation(#[from] OpError),
    #[error("the driver of the engine returned no result; this is a defect of usnet, please report it")]
    NoResult,
}

impl EngineClientError {
    pub fn code(&self) -> ErrorCode {
        let Self::Operation(error) = self else { return ErrorCode::TryAgainLater };
        match error {
            // The agent recreates the bridge, and removes orphaned ports.
            OpError::BridgeMissing { .. }
            | OpError::PortMissing { .. }
            | OpError::PortDiffers { .. }
            | OpError::TunnelExists { .. }
            | OpError::SocketInUse { .. } => ErrorCode::TryAgainLater,
            OpError::Foreign { .. }
            | OpError::BridgeUnusable { .. }
            | OpError::BridgeInUse { .. }
            | OpError::NoSocketId { .. }
            | OpError::TagTooLong(_)
            | OpError::SocketUnusable { .. }
            | OpError::Refused { .. } => ErrorCode::PortRejected,
        }
    }
}
