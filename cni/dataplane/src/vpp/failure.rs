//! What an answer of VPP means for the operation that it belongs to. Pure.

use super::command::VppCommand;
use crate::engine::OpError;
use crate::plan::Op;
use usnet_vpp::{ReplyError, ReturnCode};

/// An operation that was not done.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) error: OpError,
    /// Whether VPP was no longer as it had been shown, so that the operation may come to something else now.
    pub(super) is_conflict: bool,
}

impl From<OpError> for Failure {
    fn from(error: OpError) -> Self {
        Self { error, is_conflict: false }
    }
}

/// What it means that a change failed; none when that does no harm.
pub(super) fn failure(operation: &Op, command: &VppCommand, error: ReplyError) -> Option<Failure> {
    let code = error.code();
    if is_harmless(operation, command, code) {
        return None;
    }
    if let (Op::RemoveBridge { bridge, .. }, Some(ReturnCode::BdInUse)) = (operation, code) {
        return Some(OpError::BridgeInUse { bridge: bridge.clone() }.into());
    }
    let error = OpError::Refused { what: operation.subject(), reason: error.to_string() };
    Some(Failure { error, is_conflict: code.is_some_and(|code| is_conflict(command, code)) })
}

/// What somebody else has taken away already, or still uses.
fn is_harmless(operation: &Op, command: &VppCommand, code: Option<ReturnCode>) -> bool {
    match command {
        VppCommand::DeleteMemifSocket { .. } | VppCommand::DeletePolicer { .. } => code.is_some(),
        // The same policer: its name says all of it.
        VppCommand::AddPolicer { .. } => code == Some(ReturnCode::ValueExist),
        // VPP answers with whatever code was left from another request. Whether it worked is read back.
        VppCommand::SetEfpFilter { .. } => code.is_some_and(|code| code != ReturnCode::InvalidSwIfIndex),
        VppCommand::DeleteBridgeDomain { .. } if matches!(operation, Op::RemoveBridge { .. }) => {
            code == Some(ReturnCode::NoSuchEntry)
        }
        // One that VPP made by itself, and that is not empty yet or gone already.
        VppCommand::DeleteBridgeDomain { .. } => code.is_some(),
        _ => false,
    }
}

/// Whether somebody else was quicker.
fn is_conflict(command: &VppCommand, code: ReturnCode) -> bool {
    match command {
        VppCommand::CreateBridgeDomain { .. } => code == ReturnCode::BdAlreadyExists,
        VppCommand::AddMemifSocket { .. } => code == ReturnCode::EntryAlreadyExists,
        // The id of the socket is gone, has a memif, or another id of the same socket has one.
        VppCommand::CreateMemif { .. } => {
            matches!(code, ReturnCode::InvalidArgument | ReturnCode::SubifAlreadyExists | ReturnCode::SyscallError4)
        }
        VppCommand::CreateVhostUser { .. } | VppCommand::CreateAfPacket { .. } => code == ReturnCode::IfAlreadyExists,
        _ => matches!(code, ReturnCode::InvalidSwIfIndex | ReturnCode::NoSuchEntry),
    }
}
