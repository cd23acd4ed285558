//! What was stopped and comes back some steps later.

use super::steps::{Part, Step};
use std::collections::BTreeMap;
use usnet_crds::Engine;

/// What comes back after some steps. The API server is the first in order: nodes need it to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Off {
    ApiServer,
    Engine(usize, Part),
    Node(usize),
}

impl Off {
    const fn back(self) -> Step {
        match self {
            Self::ApiServer => Step::StartApiServer,
            Self::Engine(node, part) => Step::StartEngine { node, part },
            Self::Node(node) => Step::ReturnNode { node },
        }
    }
}

/// All that is off, and for how many steps more.
#[derive(Debug, Default)]
pub(super) struct Stopped(BTreeMap<Off, usize>);

impl Stopped {
    pub(super) fn stop(&mut self, off: Off, steps: usize) {
        self.0.insert(off, steps);
    }

    /// One step more has gone by: brings back what has been off for long enough.
    pub(super) fn due(&mut self) -> Option<Step> {
        self.0.values_mut().for_each(|left| *left = left.saturating_sub(1));
        let can = |off: &Off| !matches!(off, Off::Node(_)) || self.has_api_server();
        let off = *self.0.iter().find(|(off, left)| **left == 0 && can(off))?.0;
        self.0.remove(&off);
        Some(off.back())
    }

    /// Brings back all that is left.
    pub(super) fn all_back(self) -> impl Iterator<Item = Step> {
        self.0.into_keys().map(Off::back)
    }

    pub(super) fn has_api_server(&self) -> bool {
        !self.0.contains_key(&Off::ApiServer)
    }

    pub(super) fn has_node(&self, node: usize) -> bool {
        !self.0.contains_key(&Off::Node(node))
    }

    /// Whether no part of the engine is off.
    pub(super) fn has_engine(&self, node: usize, engine: Engine) -> bool {
        let is_part = |off: &Off| matches!(off, Off::Engine(on, part) if *on == node && part.engine() == engine);
        !self.0.keys().any(is_part)
    }
}
