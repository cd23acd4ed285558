//! What the agent remembers on disk: the last spec, which engines the node ever had, and how often they came back.

use super::spec::NodeSpec;
use crate::error_chain::ErrorChain;
use std::sync::Arc;
use usnet_crds::Engine;
use usnet_dataplane::node_file::{Error, NodeFile};
use usnet_dataplane::paths::NodePaths;

/// The node file, held and kept.
#[derive(Debug)]
pub(super) struct Memory {
    roots: NodePaths,
    file: NodeFile,
    /// Whether the disk has the networks of `file`.
    is_saved: bool,
}

impl Memory {
    /// From the disk. A file that cannot be understood is as good as none: the API server tells all of it again.
    pub(super) fn load(roots: &NodePaths) -> Self {
        let read = NodeFile::read(roots).unwrap_or_else(|error| {
            tracing::warn!(error = %ErrorChain(&error), "what this node should have is not known until the API server tells");
            None
        });
        let file = read.unwrap_or_else(|| NodeFile { version: NodeFile::VERSION, ..NodeFile::default() });
        Self { roots: roots.clone(), file, is_saved: true }
    }

    /// The last spec, as revision 0; none when there never was one.
    pub(super) fn spec(&self) -> Option<Arc<NodeSpec>> {
        let NodeFile { generation, through, networks, versions, refused, .. } = self.file.clone();
        // Kubernetes counts generations from 1.
        let is_known = generation > 0;
        is_known.then(|| Arc::new(NodeSpec { revision: 0, generation, through, networks, versions, refused }))
    }

    /// Restarts of an engine that were seen on this node.
    pub(super) fn epoch(&self, engine: Engine) -> u64 {
        self.file.epochs.get(&engine).copied().unwrap_or_default()
    }

    /// Whether the engine was ever reached on this node.
    pub(super) fn has_seen(&self, engine: Engine) -> bool {
        self.file.engines_seen.contains(&engine)
    }

    /// Keeps a spec, before anything is done about it.
    ///
    /// # Errors
    /// When the disk refuses. It is remembered until the process ends all the same.
    pub(super) fn keep_spec(&mut self, spec: &NodeSpec) -> Result<(), Error> {
        let file = NodeFile {
            generation: spec.generation,
            through: spec.through,
            networks: spec.networks.clone(),
            versions: spec.versions.clone(),
            refused: spec.refused.clone(),
            ..self.file.clone()
        };
        let last = std::mem::replace(&mut self.file, file);
        // Numbers alone are confirmed again by the next agent anyway; they are kept with the next change.
        let is_same = (last.generation > 0) == (spec.generation > 0)
            && last.networks == self.file.networks
            && last.refused == self.file.refused;
        if is_same && self.is_saved { Ok(()) } else { self.save() }
    }

    /// Keeps that an engine was reached, and whether it has another life since.
    ///
    /// # Errors
    /// As [`keep_spec`](Self::keep_spec).
    pub(super) fn keep_connection(&mut self, engine: Engine, came_back: bool) -> Result<(), Error> {
        let is_new = self.file.engines_seen.insert(engine);
        if came_back {
            *self.file.epochs.entry(engine).or_default() += 1;
        }
        if is_new || came_back { self.save() } else { Ok(()) }
    }

    fn save(&mut self) -> Result<(), Error> {
        self.file.version = NodeFile::VERSION;
        let written = self.file.write(&self.roots).map(drop);
        self.is_saved = written.is_ok();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{network, roots};

    #[test]
    fn a_new_node_knows_no_spec_even_after_its_engine_was_seen() {
        let (_folder, roots) = roots();
        let mut memory = Memory::load(&roots);
        memory.keep_connection(Engine::OpenVswitch, false).unwrap();
        let again = Memory::load(&roots);
        assert_eq!(again.spec(), None, "an unknown spec must not look like an empty one");
        assert!(again.has_seen(Engine::OpenVswitch));
    }

    #[test]
    fn spec_and_epochs_outlive_the_agent() {
        let (_folder, roots) = roots();
        let mut memory = Memory::load(&roots);
        let networks = vec![Arc::new(network("blue"))];
        let spec = NodeSpec { revision: 0, generation: 3, through: 7, networks, ..NodeSpec::default() };
        memory.keep_spec(&NodeSpec { revision: 9, ..spec.clone() }).unwrap();
        memory.keep_connection(Engine::Vpp, true).unwrap();
        memory.keep_connection(Engine::Vpp, false).unwrap();
        memory.keep_connection(Engine::OpenVswitch, false).unwrap();
        let again = Memory::load(&roots);
        assert_eq!(
            (again.spec(), again.epoch(Engine::Vpp), again.epoch(Engine::OpenVswitch)),
            (Some(Arc::new(spec)), 1, 0)
        );
    }
}
