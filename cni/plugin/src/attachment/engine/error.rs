//! Why an operation of an engine failed.

use crate::protocol::error::ErrorCode;
use usnet_dataplane::engine::{EngineError, OpError};

/// Why an operation of the engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineClientError {
    /// The engine is not usable; the outcome is unknown.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine rejected the operation.
    #[error(transparent)]
    Operation(#[from] OpError),
    /// The driver returned fewer results than operations: a defect of usnet.
    #[error("the driver of the engine returned no result; this is a defect of usnet, please report it")]
    NoResult,
}

impl EngineClientError {
    /// The CNI code.
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
