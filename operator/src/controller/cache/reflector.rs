//! Applies the watch events of one kind of object to the cache.

use kube::runtime::watcher::Event;
use std::collections::{BTreeMap, BTreeSet};

/// A changed object, as it was before; none when it is new.
pub type Changed<K, T> = (K, Option<T>);

/// Applies the watch events of one kind of object to the cache.
#[derive(Debug)]
pub struct Reflector<K> {
    listed: BTreeSet<K>,
    is_complete: bool,
}

impl<K> Default for Reflector<K> {
    fn default() -> Self {
        Self { listed: BTreeSet::new(), is_complete: false }
    }
}

impl<K: Ord + Clone> Reflector<K> {
    /// Whether the first list is complete. Before that, a missing object may only not have been
    /// listed yet.
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Applies an event to `objects`; returns what changed.
    ///
    /// A list that restarts removes nothing until it is complete, so that an interrupted list is
    /// never mistaken for deletions.
    pub fn apply<T: PartialEq>(&mut self, objects: &mut BTreeMap<K, T>, event: Event<(K, T)>) -> Vec<Changed<K, T>> {
        match event {
            Event::Apply((key, object)) => replace(objects, key, object),
            Event::Delete((key, _)) => objects.remove(&key).map(|old| (key, Some(old))).into_iter().collect(),
            Event::Init => {
                self.listed.clear();
                Vec::new()
            }
            Event::InitApply((key, object)) => {
                self.listed.insert(key.clone());
                replace(objects, key, object)
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                self.is_complete = true;
                let deleted = objects.extract_if(.., |key, _| !listed.contains(key));
                deleted.map(|(key, old)| (key, Some(old))).collect()
            }
        }
    }
}

fn replace<K: Ord + Clone, T: PartialEq>(objects: &mut BTreeMap<K, T>, key: K, object: T) -> Vec<Changed<K, T>> {
    if objects.get(&key) == Some(&object) {
        return Vec::new();
    }
    let old = objects.insert(key.clone(), object);
    vec![(key, old)]
}
