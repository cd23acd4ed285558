//! What is said of a network that is there to stay: Ready, then what it is made of, then what tells tools whether to wait or to call somebody.

use super::super::compile::{Compiled, Verdict, name_conflicts};
use super::super::inputs::{DefinitionKey, Inputs, Network};
use super::super::tally::Tally;
use super::count;
use usnet_crds::conditions::reason::{
    ALL_NODES, BRIDGE_EXISTS, BRIDGE_MISSING, BRIDGE_UNUSABLE, NAME_CONFLICT, NO_MATCHING_NODES, PENDING, SYNCED,
    SYNCING, UNAVAILABLE, VALID,
};
use usnet_crds::conditions::{ACCEPTED, DEFINITIONS_READY, Finding, PROGRAMMED, READY, RECONCILING, STALLED, Status};
use usnet_crds::network::NodeFailure;

/// Reasons of nodes that no waiting takes away.
const FOR_A_PERSON: [&str; 3] = [BRIDGE_EXISTS, BRIDGE_MISSING, BRIDGE_UNUSABLE];
const NOT_LOOKED_AT: &str = "not looked at while the network is refused";

/// A network and all that is known of it.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) name: &'a str,
    pub(super) network: &'a Network,
    pub(super) verdict: &'a Verdict,
    pub(super) tally: &'a Tally,
    pub(super) inputs: &'a Inputs,
    pub(super) compiled: &'a Compiled,
}

impl Subject<'_> {
    pub(super) fn findings(self) -> Vec<Finding> {
        let (accepted, definitions, programmed) = (self.accepted(), self.definitions(), self.programmed());
        let needs_a_person = accepted.status != Status::True || self.only_a_person_helps_the_nodes();
        let holding = [&accepted, &definitions, &programmed].into_iter().find(|part| part.status != Status::True);
        let Finding { reason, message, .. } = holding.unwrap_or(&programmed).clone();
        let ready = Finding::new(READY, Status::from(holding.is_none()), reason.clone(), message.clone());
        let waiting = holding.map(|_| {
            let kind = if needs_a_person { STALLED } else { RECONCILING };
            Finding::new(kind, Status::True, reason, message)
        });
        [ready, accepted, definitions, programmed].into_iter().chain(waiting).collect()
    }

    fn only_a_person_helps_the_nodes(self) -> bool {
        let Tally { pending, failures, .. } = self.tally;
        let is_hopeless = |failure: &NodeFailure| FOR_A_PERSON.contains(&failure.reason.as_str());
        pending.is_empty() && !failures.is_empty() && failures.iter().all(is_hopeless)
    }

    fn accepted(self) -> Finding {
        if let Verdict::Refused { reason, message } = self.verdict {
            return Finding::new(ACCEPTED, Status::False, *reason, message.clone());
        }
        let conflicts = self.network.spec.as_ref().map(|valid| name_conflicts(self.inputs, valid)).unwrap_or_default();
        let Some(first) = conflicts.first() else {
            return Finding::new(ACCEPTED, Status::True, VALID, "the spec breaks no rule and clashes with nothing");
        };
        let more = match conflicts.len() {
            1 => String::new(),
            all => format!(" (so in {} more)", count(all - 1, "namespace")),
        };
        let message = format!(
            "NetworkAttachmentDefinition {first}/{} belongs to somebody else{more}: rename or delete it, or leave its namespace out of the namespaceSelector",
            self.name
        );
        Finding::new(ACCEPTED, Status::False, NAME_CONFLICT, message)
    }

    fn definitions(self) -> Finding {
        let finding = |status, reason: &str, message: String| Finding::new(DEFINITIONS_READY, status, reason, message);
        if let Verdict::Refused { reason, .. } = self.verdict {
            return finding(Status::Unknown, reason, NOT_LOOKED_AT.to_owned());
        }
        let Some(found) = &self.inputs.definitions else {
            let message = "NetworkAttachmentDefinitions cannot be read: install Multus, whose CRD they need";
            return finding(Status::False, UNAVAILABLE, message.to_owned());
        };
        let (mut wanted_count, mut achieved_count) = (0, 0);
        for namespace in self.inputs.namespaces.keys() {
            let key = DefinitionKey { namespace: namespace.clone(), name: self.name.to_owned() };
            if let Some(wanted) = self.compiled.definitions.get(&key) {
                wanted_count += 1;
                achieved_count += usize::from(found.get(&key).is_some_and(|it| wanted.is_achieved_by(&key, it)));
            }
        }
        let message = format!("{achieved_count} of {} have the definition", count(wanted_count, "namespace"));
        match achieved_count == wanted_count {
            true => finding(Status::True, SYNCED, message),
            false => finding(Status::False, SYNCING, message),
        }
    }

    fn programmed(self) -> Finding {
        let tally = self.tally;
        let finding = |status, reason: &str, message: String| Finding::new(PROGRAMMED, status, reason, message);
        let mut message = format!("programmed on {} of {}", tally.programmed, count(tally.selected, "node"));
        if tally.unreachable > 0 {
            message.push_str(&format!("; {} NotReady", tally.unreachable));
        }
        if let Some(first) = tally.failures.first() {
            let text = format!("{message}; node {}: {}: {}", first.node, first.reason, first.message);
            return finding(Status::False, &first.reason, text);
        }
        if let Some(first) = tally.pending.first() {
            let text = format!("{message}; waiting for {}, first {first}", count(tally.pending.len(), "node"));
            return finding(Status::False, PENDING, text);
        }
        match self.verdict {
            _ if tally.selected > 0 => finding(Status::True, ALL_NODES, message),
            Verdict::Refused { reason, .. } => finding(Status::Unknown, reason, NOT_LOOKED_AT.to_owned()),
            _ => finding(Status::True, NO_MATCHING_NODES, "no node is selected".to_owned()),
        }
    }
}
