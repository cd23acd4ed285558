//! The stopped parts, which are started again some steps later.

use crate::soak::steps::{Part, Step};
use std::collections::BTreeMap;
use usnet_crds::EngineKind;

/// What comes back after some steps. The API server is the first in order: nodes need it to come
/// back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StoppedPart {
    ApiServer,
    Engine(usize, Part),
    Node(usize),
}

impl StoppedPart {
    const fn back(self) -> Step {
        match self {
            Self::ApiServer => Step::StartApiServer,
            Self::Engine(node, part) => Step::StartEngine { node, part },
            Self::Node(node) => Step::ReturnNode { node },
        }
    }
}

/// The stopped parts, each with the number of remaining steps.
#[derive(Debug, Default)]
pub(crate) struct StoppedParts(BTreeMap<StoppedPart, usize>);

impl StoppedParts {
    pub(crate) fn stop(&mut self, part: StoppedPart, steps: usize) {
        self.0.insert(part, steps);
    }

    /// After one step more: brings back what has been stopped for long enough.
    pub(crate) fn due(&mut self) -> Option<Step> {
        self.0.values_mut().for_each(|left| *left = left.saturating_sub(1));
        let can = |part: &StoppedPart| !matches!(part, StoppedPart::Node(_)) || self.has_api_server();
        let part = *self.0.iter().find(|(part, left)| **left == 0 && can(part))?.0;
        self.0.remove(&part);
        Some(part.back())
    }

    /// Brings back all that is left.
    pub(crate) fn all_back(self) -> impl Iterator<Item = Step> {
        self.0.into_keys().map(StoppedPart::back)
    }

    pub(crate) fn has_api_server(&self) -> bool {
        !self.0.contains_key(&StoppedPart::ApiServer)
    }

    pub(crate) fn has_node(&self, node: usize) -> bool {
        !self.0.contains_key(&StoppedPart::Node(node))
    }

    /// Whether no part of the engine is stopped.
    pub(crate) fn has_engine(&self, node: usize, engine: EngineKind) -> bool {
        let is_part = |stopped: &StoppedPart| match stopped {
            StoppedPart::Engine(on, part) => *on == node && part.engine() == engine,
            StoppedPart::ApiServer | StoppedPart::Node(_) => false,
        };
        !self.0.keys().any(is_part)
    }
}
