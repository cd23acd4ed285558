//! The node file `node.json`: the last spec, which engines were ever reached on the node, and how
//! often they were restarted. Its format is [`usnet_dataplane::node_file`].

use super::background_sync::BackgroundSync;
use crate::model::spec::NodeSpec;
use std::sync::Arc;
use usnet_common::display::ErrorChain;
use usnet_crds::EngineKind;
use usnet_dataplane::node_file::{Error, NodeFile};
use usnet_dataplane::paths::NodePaths;

/// The minimum number of bytes that are appended to the file before it is rewritten: thousands of
/// changes.
const APPENDED_MIN: u64 = 4 << 20;

/// The node file, in memory and on disk.
#[derive(Debug)]
pub(crate) struct PersistedState {
    paths: NodePaths,
    file: NodeFile,
    /// Whether the networks of `file` are on disk.
    is_saved: bool,
    /// The file on disk, if this agent wrote it.
    written: Option<WrittenFile>,
    sync: Option<BackgroundSync>,
}

/// The content and sizes of the file on disk.
#[derive(Debug)]
struct WrittenFile {
    content: NodeFile,
    /// The number of bytes at the last rewrite.
    whole: u64,
    /// The number of bytes that were appended since then.
    appended: u64,
}

impl WrittenFile {
    /// Whether the file should be rewritten instead of appended to.
    fn is_long(&self) -> bool {
        self.appended > APPENDED_MIN.max(self.whole.saturating_mul(2))
    }
}

impl PersistedState {
    /// Loads the file. One that cannot be read counts as absent: the API server provides all of it
    /// again.
    pub(crate) fn load(paths: &NodePaths) -> Self {
        let read = NodeFile::read(paths).unwrap_or_else(|error| {
            tracing::warn!(error = %ErrorChain(&error), "cannot read the node file; the desired state of this node is unknown until the API server is reached");
            None
        });
        let file = read.unwrap_or_else(|| NodeFile { version: NodeFile::VERSION, ..NodeFile::default() });
        Self { paths: paths.clone(), file, is_saved: true, written: None, sync: None }
    }

    /// The last spec, as revision 0; none if there never was one.
    pub(crate) fn spec(&self) -> Option<Arc<NodeSpec>> {
        let NodeFile { generation, through, networks, versions, refused, uplinks, .. } = self.file.clone();
        // Kubernetes counts generations from 1.
        let is_known = generation > 0;
        let spec = NodeSpec { revision: 0, generation, through, networks, uplinks, versions, refused };
        is_known.then(|| Arc::new(spec))
    }

    /// The number of an engine's restarts that were seen on this node.
    pub(crate) fn epoch(&self, engine: EngineKind) -> u64 {
        self.file.epochs.get(&engine).copied().unwrap_or_default()
    }

    /// Whether the engine was ever reached on this node.
    pub(crate) fn has_seen(&self, engine: EngineKind) -> bool {
        self.file.engines_seen.contains(&engine)
    }

    /// Persists a spec, before anything of it is programmed. If it cannot be written it is still
    /// kept in memory.
    pub(crate) fn save_spec(&mut self, spec: &NodeSpec) -> Result<(), Error> {
        let last = &self.file;
        // The next agent confirms generations and versions anyway. They are written with the next
        // change.
        let is_same = (last.generation > 0) == (spec.generation > 0)
            && last.networks == spec.networks
            && last.refused == spec.refused
            && last.uplinks == spec.uplinks;
        self.file = NodeFile {
            generation: spec.generation,
            through: spec.through,
            networks: spec.networks.clone(),
            versions: spec.versions.clone(),
            refused: spec.refused.clone(),
            uplinks: spec.uplinks.clone(),
            ..std::mem::take(&mut self.file)
        };
        if is_same && self.is_saved { Ok(()) } else { self.save() }
    }

    /// Persists that an engine was connected to, and whether it was restarted.
    pub(crate) fn save_connection(&mut self, engine: EngineKind, restarted: bool) -> Result<(), Error> {
        let is_new = self.file.engines_seen.insert(engine);
        if restarted {
            *self.file.epochs.entry(engine).or_default() += 1;
        }
        if is_new || restarted { self.save() } else { Ok(()) }
    }

    /// Persists what could not be persisted before, if anything.
    pub(crate) fn save_unsaved(&mut self) -> Result<(), Error> {
        if self.is_saved { Ok(()) } else { self.save() }
    }

    fn save(&mut self) -> Result<(), Error> {
        self.file.version = NodeFile::VERSION;
        let written = match self.written.take().filter(|written| !written.is_long()) {
            Some(written) => self.append(&written),
            None => self.write(),
        };
        self.is_saved = written.is_ok();
        self.written = Some(written?);
        Ok(())
    }

    fn write(&self) -> Result<WrittenFile, Error> {
        let whole = self.file.write(&self.paths)?;
        Ok(WrittenFile { content: self.file.clone(), whole, appended: 0 })
    }

    /// Appends the change without waiting for the disk, which may be busy. If power is lost before
    /// it is written, the node returns to its previous state.
    fn append(&mut self, written: &WrittenFile) -> Result<WrittenFile, Error> {
        // The administrator may have moved the file away.
        let Ok(appended) = self.file.append(&self.paths, &written.content) else { return self.write() };
        let path = self.paths.node_file();
        self.sync.get_or_insert_with(|| BackgroundSync::start(path)).request();
        let appended = written.appended.saturating_add(appended);
        Ok(WrittenFile { content: self.file.clone(), appended, whole: written.whole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{network, node_paths};

    #[test]
    fn a_new_node_has_no_spec_even_after_its_engine_was_seen() {
        let (_folder, paths) = node_paths();
        let mut state = PersistedState::load(&paths);
        state.save_connection(EngineKind::OpenVswitch, false).unwrap();
        let again = PersistedState::load(&paths);
        assert_eq!(again.spec(), None, "an unknown spec must not look like an empty one");
        assert!(again.has_seen(EngineKind::OpenVswitch));
    }

    #[test]
    fn spec_and_epochs_outlive_the_agent() {
        let (_folder, paths) = node_paths();
        let mut state = PersistedState::load(&paths);
        let networks = vec![Arc::new(network("blue"))];
        let spec = NodeSpec { revision: 0, generation: 3, through: 7, networks, ..NodeSpec::default() };
        state.save_spec(&NodeSpec { revision: 9, ..spec.clone() }).unwrap();
        state.save_connection(EngineKind::Vpp, true).unwrap();
        state.save_connection(EngineKind::Vpp, false).unwrap();
        state.save_connection(EngineKind::OpenVswitch, false).unwrap();
        let again = PersistedState::load(&paths);
        assert_eq!(
            (again.spec(), again.epoch(EngineKind::Vpp), again.epoch(EngineKind::OpenVswitch)),
            (Some(Arc::new(spec)), 1, 0)
        );
    }
}
