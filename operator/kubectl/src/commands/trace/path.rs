//! The path of packets between two endpoints, step by step. Pure.

use super::report::{Conclusion, NOTHING_FOUND, Outcome, PASSES, Step};

/// The steps so far, and the conclusion from the first that failed.
#[derive(Debug, Default)]
pub(super) struct Path {
    steps: Vec<Step>,
    conclusion: Option<Conclusion>,
}

impl Path {
    pub(super) fn passed(&mut self, node: &str, what: impl Into<String>) {
        self.add(Outcome::Passed, node, what.into());
    }

    pub(super) fn unknown(&mut self, node: &str, what: impl Into<String>) {
        self.add(Outcome::Unknown, node, what.into());
    }

    /// Adds a failed step. The first one is the conclusion, because later failures may be its
    /// consequences.
    pub(super) fn failed(&mut self, node: &str, what: impl Into<String>, conclusion: Conclusion) {
        self.add(Outcome::Failed, node, what.into());
        self.conclusion.get_or_insert(conclusion);
    }

    fn add(&mut self, outcome: Outcome, node: &str, what: String) {
        self.steps.push(Step { outcome, node: node.to_owned(), what });
    }

    /// Returns all steps and the conclusion.
    pub(super) fn finish(self) -> (Vec<Step>, Conclusion) {
        let conclusion = self.conclusion();
        (self.steps, conclusion)
    }

    fn conclusion(&self) -> Conclusion {
        if let Some(conclusion) = &self.conclusion {
            return conclusion.clone();
        }
        let unknown = self.steps.iter().filter(|step| step.outcome == Outcome::Unknown).count();
        match unknown {
            0 => Conclusion::new(PASSES, "packets pass every step", ""),
            _ => Conclusion::new(
                NOTHING_FOUND,
                format!(
                    "no step fails, but {unknown} of {} are unknown: send packets, and run the command again",
                    self.steps.len()
                ),
                "",
            ),
        }
    }
}
