//! What is found while a policy is read.

use super::problem::{FieldProblem, PolicyProblem};

/// The problems that were found so far.
pub(super) struct Reading(Vec<FieldProblem>);

impl Reading {
    pub(super) const fn new(problems: Vec<FieldProblem>) -> Self {
        Self(problems)
    }

    pub(super) fn into_problems(self) -> Vec<FieldProblem> {
        self.0
    }

    /// A part of the policy, if it can be enforced.
    pub(super) fn check<T>(&mut self, field: &str, result: Result<T, PolicyProblem>) -> Option<T> {
        result.map_err(|problem| self.0.push(FieldProblem { field: field.to_owned(), problem })).ok()
    }
}
