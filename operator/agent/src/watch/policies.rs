//! All `CompiledPolicy`s. They are watched only while a network of this node has policies.

use super::list_watch::{Event, Object};
use crate::model::policies::CompiledPolicies;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;
use usnet_crds::{CompiledPolicy, CompiledPolicySpec};

/// The policies by the names of their objects; none of those that could never be read.
type Known = BTreeMap<String, Option<CompiledPolicySpec>>;

/// Follows the policies, and keeps the last readable version of each.
pub(super) struct CompiledPolicyList {
    updates: watch::Sender<CompiledPolicies>,
    known: Known,
    /// A list that is not complete yet.
    list: Known,
}

impl CompiledPolicyList {
    pub(super) fn new(updates: watch::Sender<CompiledPolicies>) -> Self {
        Self { updates, known: Known::new(), list: Known::new() }
    }

    pub(super) fn on_event(&mut self, event: Event<CompiledPolicy>) {
        match event {
            Event::Page { objects, is_first, complete } => {
                if is_first {
                    self.list.clear();
                }
                let read: Known = objects.iter().map(|object| self.parse(object)).collect();
                self.list.extend(read);
                if complete.is_none() {
                    return;
                }
                self.known = std::mem::take(&mut self.list);
            }
            Event::Applied(object) => {
                let (name, policy) = self.parse(&object);
                self.known.insert(name, policy);
            }
            Event::Deleted(object) => drop(self.known.remove(object.name())),
            Event::Opened => return,
        }
        // One that cannot be read restricts pods: without it, the others would allow too much.
        let all: Option<Vec<CompiledPolicySpec>> = self.known.values().cloned().collect();
        if let Some(all) = all {
            self.updates.send_replace(Some(Arc::new(all)));
        }
    }

    /// Returns the policy. If it cannot be read, its last readable version.
    fn parse(&self, object: &Object<CompiledPolicy>) -> (String, Option<CompiledPolicySpec>) {
        let name = object.name().to_owned();
        let policy = object.spec::<CompiledPolicySpec>().map_err(|error| {
            tracing::warn!(policy = name, %error, "cannot read a CompiledPolicy; continuing with its last readable version, or with the policies before if there is none");
        });
        let policy = policy.ok().or_else(|| self.known.get(&name).cloned().flatten());
        (name, policy)
    }
}
