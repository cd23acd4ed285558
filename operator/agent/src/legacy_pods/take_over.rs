//! Writes the records of interfaces that are taken over (IO).

use super::follow::Found;
use super::matching::{Engine, Matched, matched};
use crate::task_cell::TaskCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::journal::{Error, Journal, PendingSync};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::observed::Observed;
use usnet_node::legacy_pods::{LegacyInterface, is_there};

/// The engine of a reconcile, and the files of its node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'a> {
    pub(crate) found: &'a TaskCell<Found>,
    pub(crate) journal: &'a Journal,
    pub(crate) engine: EngineKind,
    pub(crate) engine_socket: &'a Path,
    pub(crate) memif_socket_ids: MemifSocketIds,
    pub(crate) networks: &'a [Arc<NodeNetwork>],
}

/// Writes a record for each interface of the legacy plugin whose port the engine has, and adds it
/// to the `records` that were read. They are on disk when this returns: after a loss of power, a
/// port with a tag and without a record would be a leftover.
pub(crate) fn take_over(
    node: Node<'_>,
    observed: &Observed,
    records: &mut Vec<Record>,
    unreadable: &BTreeSet<AttachmentId>,
) -> Result<(), Error> {
    let Node { found, engine: kind, engine_socket: socket, memif_socket_ids, networks, .. } = node;
    let interfaces = found.read(Found::interfaces);
    if interfaces.is_empty() {
        return Ok(());
    }
    let engine = Engine { kind, socket, memif_socket_ids, observed, networks, records };
    let Matched { new, mut waiting } = matched(&interfaces, engine);
    // DEL removes port, state file and record, and the files are read only every few seconds.
    waiting.retain(|file, _| file.exists());
    found.update(|found| found.log(Some(kind), waiting));
    let mut syncs: Vec<PendingSync> = Vec::new();
    for (interface, record) in new.into_iter().filter(|(interface, _)| !unreadable.contains(&interface.id)) {
        let Some(sync) = write(node.journal, interface, &record)? else { continue };
        syncs.push(sync);
        tracing::info!(
            network = %record.network, attachment = %record.id, pod = %record.pod, port = %record.port.name,
            "taken over from Intel's Userspace CNI"
        );
        records.push(record);
    }
    syncs.into_iter().try_for_each(PendingSync::wait)
}

/// Writes a record, unless a call of the runtime works on the attachment, there is one, or a DEL
/// has removed its state file meanwhile.
fn write(journal: &Journal, interface: &LegacyInterface, record: &Record) -> Result<Option<PendingSync>, Error> {
    let Some(locked) = journal.try_lock_all([&interface.id])?.locked.pop() else { return Ok(None) };
    if locked.read()?.is_some() || !is_there(interface) {
        return Ok(None);
    }
    locked.write(record)?;
    locked.start_sync().map(Some)
}
