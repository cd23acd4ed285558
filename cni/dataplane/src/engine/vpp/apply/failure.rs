//! What an answer of VPP means for the operation that it belongs to. Pure.

use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::plan::Op;
use std::collections::BTreeMap;
use usnet_vpp::{ReplyError, ReturnCode};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) error: OpError,
    /// Whether VPP differed from the snapshot, so that the operation has to be planned again.
    pub(super) is_conflict: bool,
}

impl From<OpError> for Failure {
    fn from(error: OpError) -> Self {
        Self { error, is_conflict: false }
    }
}

/// Operations that failed, by their places in the part.
pub(super) type Failures = BTreeMap<usize, Failure>;

/// What the failure of a command means for its operation; `None` if it does no harm.
pub(super) fn failure(operation: &Op, command: &VppCommand, error: ReplyError) -> Option<Failure> {
    let code = error.code();
    if is_harmless(operation, command, code) {
        return None;
    }
    if let (Op::RemoveBridge { bridge, .. }, Some(ReturnCode::BdInUse)) = (operation, code) {
        return Some(OpError::BridgeInUse { bridge: bridge.clone() }.into());
    }
    let (what, reason) = (operation.subject(), error.to_string());
    let error = match code {
        Some(code) if cannot_listen(command, code) => OpError::SocketUnusable { what, reason },
        _ => OpError::Refused { what, reason },
    };
    Some(Failure { error, is_conflict: code.is_some_and(|code| is_conflict(command, code)) })
}

/// The object was deleted by others already, or is still in use by others.
fn is_harmless(operation: &Op, command: &VppCommand, code: Option<ReturnCode>) -> bool {
    match command {
        VppCommand::Port(command) => code.is_some() && command.is_harmless(),
        VppCommand::PortSetting(command) => code.is_some_and(|code| command.is_harmless(code)),
        VppCommand::Filter(command) => code.is_some_and(|code| command.is_harmless(code)),
        VppCommand::SubInterface(command) => code.is_some_and(|code| command.is_harmless(code)),
        VppCommand::Tunnel(command) => code.is_some_and(|code| command.is_harmless(code)),
        VppCommand::Routing(command) => code.is_some_and(|code| command.is_harmless(code)),
        VppCommand::DeletePolicer { .. } | VppCommand::StopSpan(_) | VppCommand::DeleteAcl { .. } => code.is_some(),
        // The same policer: its name encodes all of its settings.
        VppCommand::AddPolicer { .. } => code == Some(ReturnCode::ValueExist),
        VppCommand::DeleteBridgeDomain { .. } if matches!(operation, Op::RemoveBridge { .. }) => {
            code == Some(ReturnCode::NoSuchEntry)
        }
        // An implicit bridge domain that is not empty yet or deleted already.
        VppCommand::DeleteBridgeDomain { .. } => code.is_some(),
        _ => false,
    }
}

/// Whether VPP could not listen on the socket of a memif or of a vhost-user interface.
fn cannot_listen(command: &VppCommand, code: ReturnCode) -> bool {
    let listens = matches!(command, VppCommand::Port(command) if command.listens());
    listens && matches!(code, ReturnCode::SyscallError2 | ReturnCode::SyscallError4)
}

/// Whether another client changed VPP in between.
fn is_conflict(command: &VppCommand, code: ReturnCode) -> bool {
    let is_gone = matches!(code, ReturnCode::InvalidSwIfIndex | ReturnCode::NoSuchEntry);
    match command {
        VppCommand::CreateBridgeDomain(_) => code == ReturnCode::BdAlreadyExists,
        VppCommand::Port(command) => command.is_conflict(code).unwrap_or(is_gone),
        VppCommand::SubInterface(command) => command.is_conflict(code),
        VppCommand::Tunnel(command) => command.is_conflict(code),
        VppCommand::PortSetting(command) => is_gone || command.is_conflict(code),
        _ => is_gone,
    }
}
