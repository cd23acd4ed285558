//! What the errors of an API session mean.

use crate::engine::error::EngineError;
use usnet_crds::EngineKind;
use usnet_vpp::{Error, ReplyError};

impl From<Error> for EngineError {
    fn from(error: Error) -> Self {
        Self::Unavailable { engine: EngineKind::Vpp, source: Box::new(error) }
    }
}

impl From<ReplyError> for EngineError {
    fn from(error: ReplyError) -> Self {
        Self::InvalidReply { engine: EngineKind::Vpp, source: Box::new(error) }
    }
}
