//! Follows one kind of object through the events of a watch.

use kube::runtime::watcher::Event;
use std::collections::{BTreeMap, BTreeSet};

/// One object changed: what it was before, if it was there.
pub type Changed<K, T> = (K, Option<T>);

/// Follows one kind of object through the events of a watch.
#[derive(Debug)]
pub struct Feed<K> {
    listed: BTreeSet<K>,
    is_complete: bool,
}

impl<K> Default for Feed<K> {
    fn default() -> Self {
        Self { listed: BTreeSet::new(), is_complete: false }
    }
}

impl<K: Ord + Clone> Feed<K> {
    /// Whether a first list has arrived whole. Before that, what is missing may only not have been seen yet.
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Applies an event to `objects`; gives back what changed.
    ///
    /// A list that starts again removes nothing until it is whole: a half-read list never looks like deleted objects.
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
