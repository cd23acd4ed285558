//! What the errors of a database session mean.

use crate::engine::error::EngineError;
use usnet_crds::EngineKind;
use usnet_ovsdb::{Error, ReplyError};

/// The database is empty, or has not been read yet. That must not look like a switch without
/// bridges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its database has no row in the table Open_vSwitch: start Open vSwitch's own service, which creates it")]
pub struct EmptyDatabase;

impl From<Error> for EngineError {
    fn from(error: Error) -> Self {
        Self::Unavailable { engine: EngineKind::OpenVswitch, source: Box::new(error) }
    }
}

impl From<ReplyError> for EngineError {
    fn from(error: ReplyError) -> Self {
        Self::InvalidReply { engine: EngineKind::OpenVswitch, source: Box::new(error) }
    }
}

impl From<EmptyDatabase> for EngineError {
    fn from(error: EmptyDatabase) -> Self {
        Self::Unavailable { engine: EngineKind::OpenVswitch, source: Box::new(error) }
    }
}
