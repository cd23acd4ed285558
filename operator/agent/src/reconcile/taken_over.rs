//! Records of pods that the legacy plugin attached, before a plan that needs them (IO).

use super::agent_state::AgentState;
use super::journal::JournalSnapshot;
use crate::legacy_pods::{Node, take_over};
use std::path::Path;
use std::sync::Arc;
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::journal::Error;
use usnet_dataplane::observed::Observed;

/// Adds the records of one engine, which has this control socket, to those of the journal.
pub(super) fn add_taken_over(
    agent_state: &AgentState,
    (engine, engine_socket): (EngineKind, &Path),
    networks: &[Arc<NodeNetwork>],
    observed: &Observed,
    journal: &mut JournalSnapshot,
) -> Result<(), Error> {
    let node = Node {
        found: &agent_state.legacy_pods,
        journal: &agent_state.journal,
        engine,
        engine_socket,
        memif_socket_ids: agent_state.memif_socket_ids,
        networks,
    };
    take_over(node, observed, &mut journal.records, &journal.unreadable)
}
