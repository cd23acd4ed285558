//! The results of the steps of one reconcile.

use super::journal::{AttachmentLocks, JournalSnapshot};
use super::links::PreparedLinks;
use crate::model::engine_facts::EngineFacts;
use crate::model::engine_view::{EngineUp, EngineView};
use crate::model::health::{Cause, NetworkHealth};
use crate::report::history_recorder::Attempt;
use std::collections::BTreeMap;
use usnet_crds::NetworkName;
use usnet_crds::uplink::report::UplinkReport;
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::links::LinkError;
use usnet_dataplane::plan::{Blocker, PlannedOp};
use usnet_dataplane::{journal, network_file};

/// Why a reconcile was aborted. It is retried.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The journal cannot be read, so it is not known which pods are attached.
    #[error("cannot read the attachment records of this node")]
    Journal(#[from] journal::Error),
    /// The devices of the node cannot be read, so it is not known which networks are connected.
    #[error("cannot read or change the network devices of this node")]
    Links(#[from] LinkError),
    /// A network file cannot be written.
    #[error("cannot update the network files for the plugin")]
    NetworkFile(#[from] network_file::Error),
}

/// The result of a reconcile.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) facts: EngineFacts,
    /// Whether something remains to be done that a later attempt may achieve.
    pub(super) retry: bool,
}

/// The result of the steps from plan to verify.
pub(super) struct Reconciled {
    pub(super) network_health: BTreeMap<NetworkName, NetworkHealth>,
    pub(super) blockers: BTreeMap<NetworkName, Blocker>,
    pub(super) uplinks: Vec<UplinkReport>,
    /// Bridges that are kept because of unreadable records.
    pub(super) kept_bridges: BTreeMap<NetworkName, String>,
    /// Attachments with a problem of their own.
    pub(super) degraded: BTreeMap<AttachmentId, Cause>,
    pub(super) records: Vec<Record>,
    pub(super) view: EngineView,
    pub(super) retry: bool,
}

impl Reconciled {
    /// The result without the engine or a spec, when nothing could be done.
    pub(super) fn without_engine(
        network_health: BTreeMap<NetworkName, NetworkHealth>,
        records: Vec<Record>,
        view: EngineView,
    ) -> Self {
        let (blockers, kept_bridges, degraded) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (uplinks, retry) = (Vec::new(), false);
        Self { network_health, blockers, uplinks, kept_bridges, degraded, records, view, retry }
    }
}

/// The results of the operations of one reconcile.
pub(crate) struct Applied {
    pub(super) attempts: Vec<Attempt>,
    /// Why the engine as a whole did not answer.
    pub(super) engine_error: Option<String>,
}

/// The input of the verification, besides the plan.
pub(super) struct AfterApply<'a> {
    /// The observed engine.
    pub(super) engine: EngineUp,
    pub(super) journal: JournalSnapshot,
    pub(super) links: &'a PreparedLinks,
    /// Why the engine as a whole did not answer.
    pub(super) engine_error: Option<&'a str>,
}

/// A plan, the desired state it was computed from, and the locks it holds.
pub(super) struct Planned {
    pub(super) desired: Desired,
    pub(super) operations: Vec<PlannedOp>,
    pub(super) locks: AttachmentLocks,
}
