//! What is next for one attachment, from what is requested and what the journal has. Pure.

use std::collections::BTreeSet;
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::network_namespace::Presence;
use usnet_dataplane::sandboxes::Sandbox;

/// A record of the pod, and whether its network namespace exists.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) record: Record,
    pub(super) presence: Presence,
}

impl Seen {
    fn is_of(&self, object: &str) -> bool {
        self.record.object() == Some(object)
    }

    /// Once it is detached but for its port, the reconciliation of the engine does the rest.
    fn is_held(&self) -> bool {
        self.record.progress != Progress::Detached
    }
}

/// What is next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Nothing: the interface is attached.
    Attached(Box<Record>),
    /// Nothing: there is no interface, and none is requested.
    Gone,
    /// ADD to this sandbox.
    Attach(Sandbox),
    /// DEL.
    Detach(AttachmentId),
    /// The pod has no sandbox that is known.
    NoSandbox,
    /// The pod has several.
    TwoSandboxes,
}

/// What is next for the attachment of an object. `seen` are the records of its pod, and `recorded`
/// the sandbox that the plugin recorded.
pub(super) fn step(object: &str, is_requested: bool, seen: &[Seen], recorded: Option<&Sandbox>) -> Step {
    let own = || seen.iter().filter(|seen| seen.is_of(object) && seen.is_held());
    // Also one of an earlier sandbox of the pod.
    let is_superfluous = |seen: &&Seen| !is_requested || seen.presence == Presence::Gone;
    if let Some(superfluous) = own().find(is_superfluous) {
        return Step::Detach(superfluous.record.id.clone());
    }
    if !is_requested {
        return Step::Gone;
    }
    if let Some(attached) = own().find(|seen| seen.record.progress == Progress::Attached) {
        return Step::Attached(Box::new(attached.record.clone()));
    }
    let sandboxes = sandboxes(seen, recorded);
    match sandboxes.len() {
        0 => Step::NoSandbox,
        1 => sandboxes.into_iter().next().map_or(Step::NoSandbox, Step::Attach),
        _ => Step::TwoSandboxes,
    }
}

/// The sandboxes that the pod has: of any of its interfaces, except those for resource claims,
/// which are made before there is one.
fn sandboxes(seen: &[Seen], recorded: Option<&Sandbox>) -> BTreeSet<Sandbox> {
    let is_there =
        |seen: &&Seen| seen.is_held() && seen.presence != Presence::Gone && seen.record.id.container.claim().is_none();
    let of_record = |seen: &Seen| Sandbox {
        container: seen.record.id.container.clone(),
        network_namespace: seen.record.network_namespace.clone(),
    };
    seen.iter().filter(is_there).map(of_record).chain(recorded.cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_dataplane::testing::{network, record};

    fn seen(container: &str, object: Option<&str>, progress: Progress, presence: Presence) -> Seen {
        let configuration_name = object.map(Record::configuration_of_object);
        let record = Record { progress, configuration_name, ..record(container, &network("blue")) };
        Seen { record, presence }
    }

    fn sandbox(container: &str) -> Sandbox {
        let namespace = record(container, &network("blue")).network_namespace;
        Sandbox { container: container.parse().unwrap(), network_namespace: namespace }
    }

    use Presence::{Gone, Present};
    use Progress::{Attached, Attaching, Detached, Detaching};

    #[test]
    fn an_interface_is_attached_to_the_one_sandbox_of_the_pod() {
        let other = seen("c1", None, Attached, Present);
        let old = seen("c0", None, Attached, Gone);
        assert_eq!(step("o1", true, &[other.clone(), old.clone()], None), Step::Attach(sandbox("c1")));
        assert_eq!(step("o1", true, std::slice::from_ref(&old), Some(&sandbox("c2"))), Step::Attach(sandbox("c2")));
        assert_eq!(step("o1", true, &[old], None), Step::NoSandbox);
        assert_eq!(step("o1", true, &[other], Some(&sandbox("c2"))), Step::TwoSandboxes);
    }

    #[test]
    fn a_call_that_was_killed_is_repeated() {
        for progress in [Attaching, Detaching] {
            let own = seen("c1", Some("o1"), progress, Present);
            assert_eq!(step("o1", true, std::slice::from_ref(&own), None), Step::Attach(sandbox("c1")));
            assert_eq!(step("o1", false, std::slice::from_ref(&own), None), Step::Detach(own.record.id));
        }
        let own = seen("c1", Some("o1"), Attached, Present);
        assert_eq!(step("o1", true, std::slice::from_ref(&own), None), Step::Attached(Box::new(own.record)));
    }

    #[test]
    fn what_is_not_requested_or_has_lost_its_sandbox_is_detached() {
        let own = seen("c1", Some("o1"), Attached, Present);
        assert_eq!(step("o1", false, std::slice::from_ref(&own), None), Step::Detach(own.record.id.clone()));
        assert_eq!(step("o2", false, &[own], None), Step::Gone, "it is another object's");
        let gone = seen("c0", Some("o1"), Attached, Gone);
        let new = seen("c1", None, Attached, Present);
        assert_eq!(step("o1", true, &[gone.clone(), new.clone()], None), Step::Detach(gone.record.id));
        let left = seen("c0", Some("o1"), Detached, Gone);
        assert_eq!(
            step("o1", false, std::slice::from_ref(&left), None),
            Step::Gone,
            "its port is the reconciliation's"
        );
        assert_eq!(step("o1", true, &[left, new], None), Step::Attach(sandbox("c1")));
    }
}
