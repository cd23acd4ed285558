//! From facts to steps and a conclusion. Pure.

use super::between::between;
use super::ends::{end, network_on_node};
use super::facts::Facts;
use super::report::{Conclusion, NOTHING_FOUND, Outcome, PASSES, Report, Step};
use crate::kubectl::model::{Pod, Snapshot};

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

/// The way between two ends of a network.
pub(super) fn report(snapshot: &Snapshot, facts: &Facts<'_>) -> Report {
    let mut way = Way::default();
    network_on_node(&mut way, snapshot, &facts.network, &facts.from);
    if !facts.is_on_one_node() {
        network_on_node(&mut way, snapshot, &facts.network, &facts.to);
    }
    end(&mut way, &facts.from, true);
    between(&mut way, snapshot, facts);
    end(&mut way, &facts.to, false);
    Report {
        from: facts.from.name(),
        to: facts.to.name(),
        network: Some(facts.network.clone()),
        conclusion: way.conclusion(),
        steps: way.steps,
        not_read: snapshot.gaps.clone(),
    }
}

/// Two pods that are in no network together.
pub(super) fn no_common_network(snapshot: &Snapshot, [from, to]: [&Pod; 2], networks: &[String; 2]) -> Report {
    let [of_from, of_to] = networks;
    let why = format!(
        "{} has {of_from}, {} has {of_to}: no packets pass between networks without a gateway, whose way is not traced",
        from.reference(),
        to.reference()
    );
    let mut way = Way::default();
    let remedy = "select one network in the annotation k8s.v1.cni.cncf.io/networks of both pods, or connect their networks by gateways";
    way.fails("", "a network that both pods select", Conclusion::new("NetworksDiffer", why, remedy));
    Report {
        from: from.reference(),
        to: to.reference(),
        network: None,
        conclusion: way.conclusion(),
        steps: way.steps,
        not_read: snapshot.gaps.clone(),
    }
}
