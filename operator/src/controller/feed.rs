//! Follows one kind of object through the events of a watch.

use kube::runtime::watcher::Event;
use std::collections::{BTreeMap, BTreeSet};

/// What keys had before they changed; `None` for those that were not there.
pub type Before<K, T> = BTreeMap<K, Option<T>>;

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

    /// Takes an event into `objects`, and what was there into `before`, where the oldest stays; true when that changed anything that matters
    /// here.
    ///
    /// A list that starts anew takes nothing away until it is whole: a half-read list never looks like deleted objects.
    pub fn take<T: PartialEq>(
        &mut self,
        objects: &mut BTreeMap<K, T>,
        before: &mut Before<K, T>,
        event: Event<(K, T)>,
    ) -> bool {
        match event {
            Event::Apply((key, object)) => replace(objects, before, key, object),
            Event::Delete((key, _)) => remove(objects, before, &key),
            Event::Init => {
                self.listed.clear();
                false
            }
            Event::InitApply((key, object)) => {
                self.listed.insert(key.clone());
                replace(objects, before, key, object)
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                let gone: Vec<K> = objects.keys().filter(|key| !listed.contains(*key)).cloned().collect();
                for key in &gone {
                    remove(objects, before, key);
                }
                let was_complete = std::mem::replace(&mut self.is_complete, true);
                !was_complete || !gone.is_empty()
            }
        }
    }
}

fn replace<K: Ord + Clone, T: PartialEq>(
    objects: &mut BTreeMap<K, T>,
    before: &mut Before<K, T>,
    key: K,
    object: T,
) -> bool {
    if objects.get(&key) == Some(&object) {
        return false;
    }
    let old = objects.insert(key.clone(), object);
    before.entry(key).or_insert(old);
    true
}

fn remove<K: Ord + Clone, T>(objects: &mut BTreeMap<K, T>, before: &mut Before<K, T>, key: &K) -> bool {
    let Some(old) = objects.remove(key) else { return false };
    before.entry(key.clone()).or_insert(Some(old));
    true
}
