//! The changes of the history of a node, each a line of its file.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde::{Deserialize, Serialize};
use std::fmt;
use usnet_crds::EngineKind;
use usnet_planner::plan;

/// One change, or several of one kind that were applied together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// When it was finished.
    pub time: MicroTime,
    /// The engine that was changed; none if it was not one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineKind>,
    /// The network that it belongs to, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The attachment whose port it was, as `container.interface`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment: Option<String>,
    /// The operation, for users.
    pub operation: String,
    /// Why.
    #[serde(flatten)]
    pub cause: Cause,
    /// The generation of that network; none when the node should no longer carry it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The duration since the triggering event; for a change that was completed later, since the
    /// first attempt.
    pub milliseconds: u64,
    /// Whether the engine has it now.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The cause of a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "why", rename_all_fields = "camelCase")]
pub enum Cause {
    /// There is a new spec for the node.
    NewSpec,
    /// The agent, and perhaps the node, was restarted and found this missing.
    AgentStarted,
    /// A change from outside of usnet was reverted.
    Drift,
    /// The engine was restarted and had lost it.
    EngineRestarted {
        /// The number of engine restarts by then.
        epoch: u64,
    },
    /// The pod was attached, and its port was not complete.
    PodAttached,
    /// The pod has ended and its port was left.
    PodEnded,
    /// It failed before.
    Retry,
    /// The pod's network namespace is gone, and no DEL came.
    NamespaceGone,
    /// No attachment has it.
    NoAttachment,
    /// The program of a capture ended without removing it.
    CaptureAbandoned,
    /// The container runtime called the CNI plugin.
    Runtime,
}

/// The outcome of a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "result")]
pub enum Outcome {
    /// The engine has it.
    Done,
    /// It had failed, and the engine has it now.
    CompletedLater,
    /// It failed.
    Failed {
        /// Why not.
        message: String,
    },
    /// It failed halfway and was rolled back.
    RolledBack {
        /// Why it failed.
        message: String,
    },
}

impl From<plan::Cause> for Cause {
    fn from(cause: plan::Cause) -> Self {
        match cause {
            plan::Cause::NewSpec => Self::NewSpec,
            plan::Cause::AgentStarted => Self::AgentStarted,
            plan::Cause::Drift => Self::Drift,
            plan::Cause::EngineRestarted { epoch } => Self::EngineRestarted { epoch },
            plan::Cause::Attached => Self::PodAttached,
            plan::Cause::Detached => Self::PodEnded,
            plan::Cause::Retry => Self::Retry,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewSpec => formatter.write_str("new spec"),
            Self::AgentStarted => formatter.write_str("agent started"),
            Self::Drift => formatter.write_str("drift"),
            Self::EngineRestarted { epoch } => write!(formatter, "engine restarted, epoch {epoch}"),
            Self::PodAttached => formatter.write_str("pod attached"),
            Self::PodEnded => formatter.write_str("pod detached"),
            Self::Retry => formatter.write_str("retry"),
            Self::NamespaceGone => formatter.write_str("network namespace gone without DEL"),
            Self::NoAttachment => formatter.write_str("no attachment has it"),
            Self::CaptureAbandoned => formatter.write_str("capture abandoned"),
            Self::Runtime => formatter.write_str("container runtime"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => formatter.write_str("done"),
            Self::CompletedLater => formatter.write_str("completed by a later reconcile"),
            Self::Failed { message } => write!(formatter, "failed: {message}"),
            Self::RolledBack { message } => write!(formatter, "rolled back: {message}"),
        }
    }
}
