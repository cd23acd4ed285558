//! Applies the watch events of one kind of object to what was observed of it. Pure.

use kube::ResourceExt;
use kube::runtime::watcher::Event;
use std::collections::{BTreeMap, BTreeSet};

/// A changed object, as it was before; none when it is new.
pub type Changed<K, T> = (K, Option<T>);

/// Applies the watch events of one kind of object to what was observed of it.
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

/// The event with parsed objects.
pub fn map<K, T>(event: Event<K>, parse: impl Fn(K) -> T) -> Event<T> {
    match event {
        Event::Apply(object) => Event::Apply(parse(object)),
        Event::Delete(object) => Event::Delete(parse(object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(parse(object)),
        Event::InitDone => Event::InitDone,
    }
}

/// All objects of a kind without namespaces, by name.
#[derive(Debug)]
pub struct Objects<T> {
    /// As last observed, or written.
    pub by_name: BTreeMap<String, T>,
    reflector: Reflector<String>,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), reflector: Reflector::default() }
    }
}

impl<T: ResourceExt + PartialEq> Objects<T> {
    /// Whether the first list is complete.
    pub const fn is_complete(&self) -> bool {
        self.reflector.is_complete()
    }

    /// Applies an event.
    pub fn observe(&mut self, event: Event<T>) {
        self.reflector.apply(&mut self.by_name, map(event, |object| (object.name_any(), object)));
    }
}

fn replace<K: Ord + Clone, T: PartialEq>(objects: &mut BTreeMap<K, T>, key: K, object: T) -> Vec<Changed<K, T>> {
    if objects.get(&key) == Some(&object) {
        return Vec::new();
    }
    let old = objects.insert(key.clone(), object);
    vec![(key, old)]
}
