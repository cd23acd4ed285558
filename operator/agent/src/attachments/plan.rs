//! Decides what is next for one attachment, from what is requested and what the journal has. Pure.

use std::collections::BTreeSet;
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::network_namespace::Presence;
use usnet_dataplane::sandboxes::Sandbox;

/// A record of a pod, and whether its network namespace exists.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PodRecord {
    pub(super) record: Record,
    pub(super) presence: Presence,
}

impl PodRecord {
    fn is_of(&self, object: &str) -> bool {
        self.record.object() == Some(object)
    }

    /// Whether it is still attached. Once only its port is left, the reconciler of the engine
    /// removes that.
    fn is_held(&self) -> bool {
        self.record.progress != Progress::Detached
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Nothing: the interface is attached.
    Attached(Box<Record>),
    /// Nothing: there is no interface, and none is requested.
    Gone,
    /// ADD to this sandbox.
    Attach(Sandbox),
    /// DEL of this record.
    Detach(Box<PodRecord>),
    /// Nothing: the pod has no known sandbox.
    NoSandbox,
    /// Nothing: the pod has several sandboxes.
    TwoSandboxes,
}

/// Decides for the attachment of an object. `records` are those of its pod, and `recorded` is the
/// sandbox that the plugin recorded.
pub(super) fn next(object: &str, is_requested: bool, records: &[PodRecord], recorded: Option<&Sandbox>) -> Step {
    let own = || records.iter().filter(|found| found.is_of(object) && found.is_held());
    // A record of an earlier sandbox of the pod is superfluous as well.
    let is_superfluous = |found: &&PodRecord| !is_requested || found.presence == Presence::Gone;
    if let Some(superfluous) = own().find(is_superfluous) {
        return Step::Detach(Box::new(superfluous.clone()));
    }
    if !is_requested {
        return Step::Gone;
    }
    if let Some(attached) = own().find(|found| found.record.progress == Progress::Attached) {
        return Step::Attached(Box::new(attached.record.clone()));
    }
    let sandboxes = sandboxes(records, recorded);
    match sandboxes.len() {
        0 => Step::NoSandbox,
        1 => sandboxes.into_iter().next().map_or(Step::NoSandbox, Step::Attach),
        _ => Step::TwoSandboxes,
    }
}

/// The existing sandboxes of the pod, by all of its interfaces except those for resource claims,
/// which are attached before there is a sandbox.
fn sandboxes(records: &[PodRecord], recorded: Option<&Sandbox>) -> BTreeSet<Sandbox> {
    let has_sandbox = |found: &&PodRecord| {
        found.is_held() && found.presence != Presence::Gone && found.record.id.container.claim().is_none()
    };
    let of_record = |found: &PodRecord| Sandbox {
        container: found.record.id.container.clone(),
        network_namespace: found.record.network_namespace.clone(),
    };
    records.iter().filter(has_sandbox).map(of_record).chain(recorded.cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_dataplane::testing::{network, record};

    fn seen(container: &str, object: Option<&str>, progress: Progress, presence: Presence) -> PodRecord {
        let configuration_name = object.map(Record::configuration_of_object);
        let record = Record { progress, configuration_name, ..record(container, &network("blue")) };
        PodRecord { record, presence }
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
        assert_eq!(next("o1", true, &[other.clone(), old.clone()], None), Step::Attach(sandbox("c1")));
        assert_eq!(next("o1", true, std::slice::from_ref(&old), Some(&sandbox("c2"))), Step::Attach(sandbox("c2")));
        assert_eq!(next("o1", true, &[old], None), Step::NoSandbox);
        assert_eq!(next("o1", true, &[other], Some(&sandbox("c2"))), Step::TwoSandboxes);
    }

    #[test]
    fn a_call_that_was_killed_is_repeated() {
        for progress in [Attaching, Detaching] {
            let own = seen("c1", Some("o1"), progress, Present);
            assert_eq!(next("o1", true, std::slice::from_ref(&own), None), Step::Attach(sandbox("c1")));
            assert_eq!(next("o1", false, std::slice::from_ref(&own), None), Step::Detach(Box::new(own)));
        }
        let own = seen("c1", Some("o1"), Attached, Present);
        assert_eq!(next("o1", true, std::slice::from_ref(&own), None), Step::Attached(Box::new(own.record)));
    }

    #[test]
    fn what_is_not_requested_or_has_lost_its_sandbox_is_detached() {
        let own = seen("c1", Some("o1"), Attached, Present);
        assert_eq!(next("o1", false, std::slice::from_ref(&own), None), Step::Detach(Box::new(own.clone())));
        assert_eq!(next("o2", false, &[own], None), Step::Gone, "it is another object's");
        let gone = seen("c0", Some("o1"), Attached, Gone);
        let new = seen("c1", None, Attached, Present);
        assert_eq!(next("o1", true, &[gone.clone(), new.clone()], None), Step::Detach(Box::new(gone)));
        let left = seen("c0", Some("o1"), Detached, Gone);
        assert_eq!(next("o1", false, std::slice::from_ref(&left), None), Step::Gone, "the reconciler removes its port");
        assert_eq!(next("o1", true, &[left, new], None), Step::Attach(sandbox("c1")));
    }
}
