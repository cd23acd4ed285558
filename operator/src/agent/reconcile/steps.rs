//! The results of the steps of one reconcile.

use super::journal::AttachmentLocks;
use crate::agent::model::engine_facts::EngineFacts;
use crate::agent::model::engine_view::EngineView;
use crate::agent::model::health::{NetworkHealth, Why};
use crate::agent::report::history_recorder::Attempt;
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
    /// What is reported about the engine.
    pub(super) facts: EngineFacts,
    /// Whether something remains to be done that a later attempt may achieve.
    pub(super) retry: bool,
}

/// The result of the steps from plan to verify.
pub(super) struct Reconciled {
    pub(super) network_health: BTreeMap<NetworkName, NetworkHealth>,
    pub(super) blockers: BTreeMap<NetworkName, Blocker>,
    /// What was found of the uplinks.
    pub(super) uplinks: Vec<UplinkReport>,
    /// Bridges that are kept for records that cannot be read.
    pub(super) kept_bridges: BTreeMap<NetworkName, String>,
    /// Attachments with a problem of their own.
    pub(super) degraded: BTreeMap<AttachmentId, Why>,
    pub(super) records: Vec<Record>,
    pub(super) view: EngineView,
    pub(super) retry: bool,
}

impl Reconciled {
    /// Nothing could be done without the engine or a spec.
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

/// A plan, the desired state it was computed from, and the locks it holds.
pub(super) struct Planned {
    pub(super) desired: Desired,
    pub(super) operations: Vec<PlannedOp>,
    pub(super) locks: AttachmentLocks,
}
