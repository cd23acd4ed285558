//! When slices are written: a change at once, and further ones of the same slice a second later,
//! together. So pods that come and go all the time cost the API server and the nodes no more than
//! one write per slice and second. Pure.
//!
//! A policy waits for slices that say of pods whether its new selectors select them: without
//! them, pods that it may select would be closed for that second.

use crate::observed::Stored;
use crate::plan::Operation;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;
use usnet_crds::UserspacePodSliceSpec;
use usnet_crds::compiled_policy::spec::CompiledPolicySpec;
use usnet_crds::policy::pods::SelectorId;

/// From one write of a slice to the next.
const INTERVAL: Duration = Duration::from_secs(1);

/// When each slice was written, of those of the last second.
#[derive(Debug, Default)]
pub(crate) struct Pace(BTreeMap<String, Instant>);

/// Operations that may be carried out, and when there may be more of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Admitted {
    pub(crate) operations: Vec<Operation>,
    pub(crate) next: Option<Instant>,
}

impl Pace {
    /// The operations whose time has come, in their order, given the slices that are stored.
    pub(crate) fn admit(
        &mut self,
        operations: Vec<Operation>,
        stored: &Stored<UserspacePodSliceSpec>,
        now: Instant,
    ) -> Admitted {
        self.0.retain(|_, written| now < *written + INTERVAL);
        let (mut admitted, mut missing) = (Admitted::default(), BTreeSet::new());
        for operation in operations {
            let due = operation.slice().and_then(|name| self.0.get(name)).map(|written| *written + INTERVAL);
            if let Some(due) = due {
                admitted.next = Some(admitted.next.map_or(due, |next| next.min(due)));
                missing.extend(new_selectors(&operation, stored));
            } else if !waits(&operation, &missing) {
                admitted.operations.push(operation);
            }
        }
        admitted
    }

    /// A slice was written or deleted.
    pub(crate) fn written(&mut self, operation: &Operation, now: Instant) {
        if let Some(name) = operation.slice() {
            self.0.insert(name.to_owned(), now);
        }
    }
}

/// The selectors of which a slice says something, and did not before.
fn new_selectors(operation: &Operation, stored: &Stored<UserspacePodSliceSpec>) -> BTreeSet<SelectorId> {
    let Operation::ApplySlice(name, spec) = operation else { return BTreeSet::new() };
    let before = stored.get(name).and_then(Option::as_ref).map(selectors).unwrap_or_default();
    selectors(spec).difference(&before).copied().collect()
}

fn selectors(slice: &UserspacePodSliceSpec) -> BTreeSet<SelectorId> {
    slice.selectors.iter().copied().collect()
}

/// Whether a policy has one of the selectors of which slices that were not written say something.
fn waits(operation: &Operation, missing: &BTreeSet<SelectorId>) -> bool {
    let Operation::ApplyPolicy(_, policy) = operation else { return false };
    selectors_of(policy).any(|selector| missing.contains(&selector))
}

fn selectors_of(policy: &CompiledPolicySpec) -> impl Iterator<Item = SelectorId> {
    let rules = policy.rules().into_iter().flatten().flatten();
    let peers = rules.flat_map(|rule| rule.pods.iter().copied());
    policy.selected.iter().map(|selected| selected.selector).chain(peers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn slice(selector: u128) -> UserspacePodSliceSpec {
        let selector = SelectorId::new(selector).to_string();
        let class = json!({"namespace": "db", "selectedBy": [0], "pods": {}});
        serde_json::from_value(json!({"network": "blue", "selectors": [selector], "classes": [class]})).unwrap()
    }

    fn policy(selector: u128) -> Operation {
        let selector = SelectorId::new(selector).to_string();
        let spec = json!({
            "networks": ["blue"], "namespace": "db", "name": "p", "generation": 1,
            "ingress": [{"peers": [], "pods": [selector]}],
        });
        Operation::ApplyPolicy("db.p".to_owned(), serde_json::from_value(spec).unwrap())
    }

    fn apply(name: &str, selector: u128) -> Operation {
        Operation::ApplySlice(name.to_owned(), slice(selector))
    }

    #[test]
    fn the_first_change_of_a_slice_is_written_at_once_and_others_a_second_later() {
        let (mut pace, began, none) = (Pace::default(), Instant::now(), BTreeMap::new());
        let at = |milliseconds| began + Duration::from_millis(milliseconds);
        let operations = |names: &[&str]| names.iter().map(|name| apply(name, 1)).collect::<Vec<_>>();
        let admitted = |operations, next| Admitted { operations, next };
        for operation in operations(&["a", "b"]) {
            assert_eq!(pace.admit(vec![operation.clone()], &none, at(0)), admitted(vec![operation.clone()], None));
            pace.written(&operation, if operation == apply("a", 1) { at(100) } else { at(300) });
        }
        let all = || operations(&["a", "b", "c"]);
        assert_eq!(pace.admit(all(), &none, at(1_099)), admitted(operations(&["c"]), Some(at(1_100))));
        assert_eq!(pace.admit(all(), &none, at(1_100)), admitted(operations(&["a", "c"]), Some(at(1_300))));
        let deletion = || vec![Operation::DeleteSlice("b".to_owned())];
        assert_eq!(pace.admit(deletion(), &none, at(1_299)), admitted(Vec::new(), Some(at(1_300))));
        assert_eq!(pace.admit(deletion(), &none, at(1_300)), admitted(deletion(), None));
        assert!(pace.0.is_empty(), "it does not grow with all slices of all times");
    }

    #[test]
    fn a_policy_waits_for_slices_that_know_its_new_selectors_and_for_no_others() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        let stored = BTreeMap::from([("a".to_owned(), Some(slice(1)))]);
        pace.written(&apply("a", 1), now);
        let mut admits = |slice: Operation, policy: Operation| {
            let admitted = pace.admit(vec![slice, policy.clone()], &stored, now);
            assert_eq!(admitted.next, Some(now + INTERVAL));
            admitted.operations == [policy]
        };
        assert!(!admits(apply("a", 2), policy(2)), "its pods would be closed");
        assert!(admits(apply("a", 2), policy(3)), "it has another selector");
        assert!(admits(apply("a", 1), policy(1)), "nodes know the selector");
        assert!(admits(apply("a", 2), Operation::DeletePolicy("db.p".to_owned())));
    }
}
