//! What is found while a policy is read.

use super::problem::{FieldProblem, PolicyProblem};
use super::selector::PodSelector;
use crate::policy::pods::SelectorId;
use std::collections::BTreeMap;

/// The problems and the selectors that were found so far.
pub(super) struct Reading {
    problems: Vec<FieldProblem>,
    selectors: BTreeMap<SelectorId, PodSelector>,
}

impl Reading {
    pub(super) const fn new(problems: Vec<FieldProblem>) -> Self {
        Self { problems, selectors: BTreeMap::new() }
    }

    pub(super) fn finish(self) -> (Vec<FieldProblem>, BTreeMap<SelectorId, PodSelector>) {
        (self.problems, self.selectors)
    }

    /// The id of a selector that the policy has.
    pub(super) fn selector(&mut self, selector: PodSelector) -> SelectorId {
        let id = selector.id();
        self.selectors.insert(id, selector);
        id
    }

    /// A part of the policy, if it can be enforced.
    pub(super) fn check<T>(&mut self, field: &str, result: Result<T, PolicyProblem>) -> Option<T> {
        result.map_err(|problem| self.problems.push(FieldProblem { field: field.to_owned(), problem })).ok()
    }
}
