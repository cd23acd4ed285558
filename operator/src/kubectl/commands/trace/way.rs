//! The way of packets between two ends, step by step. Pure.

use super::report::{Conclusion, NOTHING_FOUND, Outcome, PASSES, Step};

/// The steps so far, and the first that failed.
#[derive(Debug, Default)]
pub(super) struct Way {
    steps: Vec<Step>,
    conclusion: Option<Conclusion>,
}

impl Way {
    pub(super) fn passes(&mut self, node: &str, what: impl Into<String>) {
        self.add(Outcome::Passed, node, what.into());
    }

    pub(super) fn unknown(&mut self, node: &str, what: impl Into<String>) {
        self.add(Outcome::Unknown, node, what.into());
    }

    /// The first failure is the conclusion: what follows may follow from it.
    pub(super) fn fails(&mut self, node: &str, what: impl Into<String>, conclusion: Conclusion) {
        self.add(Outcome::Failed, node, what.into());
        self.conclusion.get_or_insert(conclusion);
    }

    fn add(&mut self, outcome: Outcome, node: &str, what: String) {
        self.steps.push(Step { outcome, node: node.to_owned(), what });
    }

    /// All steps, and what follows from them.
    pub(super) fn end(self) -> (Vec<Step>, Conclusion) {
        let conclusion = self.conclusion();
        (self.steps, conclusion)
    }

    fn conclusion(&self) -> Conclusion {
        if let Some(conclusion) = &self.conclusion {
            return conclusion.clone();
        }
        let unknown = self.steps.iter().filter(|step| step.outcome == Outcome::Unknown).count();
        match unknown {
            0 => Conclusion::new(PASSES, "every step passes packets", ""),
            _ => Conclusion::new(
                NOTHING_FOUND,
                format!(
                    "no step was found to fail, and {unknown} of {} are not known: send packets, and ask again",
                    self.steps.len()
                ),
                "",
            ),
        }
    }
}
