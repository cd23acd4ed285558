//! The result of the steps from plan to verify.

use crate::agent::model::engine_view::EngineView;
use crate::agent::model::health::NetworkHealth;
use std::collections::BTreeMap;
use usnet_crds::NetworkName;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::plan::Blocker;

/// The result of the steps from plan to verify.
pub(super) struct Reconciled {
    pub(super) network_health: BTreeMap<NetworkName, NetworkHealth>,
    pub(super) blockers: BTreeMap<NetworkName, Blocker>,
    /// Bridges that are kept for records that cannot be read.
    pub(super) kept_bridges: BTreeMap<NetworkName, String>,
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
        let (blockers, kept_bridges) = (BTreeMap::new(), BTreeMap::new());
        Self { network_health, blockers, kept_bridges, records, view, retry: false }
    }
}
