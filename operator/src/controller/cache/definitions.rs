//! What is kept of NetworkAttachmentDefinitions. There may be a million of usnet's own, so that of each only a fingerprint is kept; of those of other
//! programs only that they are there.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::watcher::Event;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use usnet_crds::legacy::{Form, InvalidForm};

/// Where a NetworkAttachmentDefinition is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DefinitionKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for DefinitionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// A NetworkAttachmentDefinition as a watch shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// One that the controller wrote, identified by what it says.
    Generated(u64),
    /// One that a user wrote and that asks for something of usnet.
    HandWritten(Box<HandWritten>),
    /// One for other plugins.
    Other,
}

/// A definition that a user wrote and that asks for something of usnet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandWritten {
    /// Identifies this object among all that ever had its name.
    pub uid: String,
    /// When it was created.
    pub created: Option<Time>,
    /// What it asks for, or why it cannot be used.
    pub form: Result<Form, InvalidForm>,
}

/// Identifies what a generated definition says.
pub fn fingerprint(config: &str, owner: Option<&str>, label: Option<&str>, resource: Option<&str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (config, owner, label, resource).hash(&mut hasher);
    hasher.finish()
}

/// All NetworkAttachmentDefinitions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Definitions {
    by_name: BTreeMap<Arc<str>, Namespaces>,
    hand_written: BTreeMap<DefinitionKey, HandWritten>,
    /// Names of namespaces, each kept once.
    namespaces: BTreeSet<Arc<str>>,
    /// Counts the lists.
    list: u32,
    /// Whether they can be read: not before Multus, whose CRD they have, is installed.
    pub availability: Availability,
}

/// What is kept of definitions of one name, by namespace, with the list that showed each last.
type Namespaces = BTreeMap<Arc<str>, (Kept, u32)>;

/// What is kept of one definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Generated(u64),
    NotGenerated,
}

/// Whether definitions can be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Availability {
    /// The first list is being read.
    #[default]
    Reading,
    /// The cluster has no such objects, or they may not be read.
    Unavailable,
    /// All of them are known.
    Known,
}

impl Definitions {
    /// None exist.
    pub fn none() -> Self {
        Self { availability: Availability::Known, ..Self::default() }
    }

    /// Applies an event of the watch; gives back which definitions changed, and whether what users wrote did.
    pub fn apply(&mut self, event: Event<(DefinitionKey, Definition)>) -> (Vec<DefinitionKey>, bool) {
        match event {
            Event::Init => {
                self.list = self.list.wrapping_add(1);
                (Vec::new(), false)
            }
            Event::Apply((key, definition)) | Event::InitApply((key, definition)) => self.insert(key, definition),
            Event::Delete((key, _)) => self.remove(&key),
            Event::InitDone => self.finish_list(),
        }
    }

    fn finish_list(&mut self) -> (Vec<DefinitionKey>, bool) {
        let list = self.list;
        let mut deleted = Vec::new();
        for (name, namespaces) in &self.by_name {
            let old = namespaces.iter().filter(|(_, (_, seen))| *seen != list);
            deleted.extend(old.map(|(namespace, _)| key(namespace, name)));
        }
        let mut is_users = self.availability != Availability::Known;
        for key in &deleted {
            is_users |= self.remove(key).1;
        }
        self.availability = Availability::Known;
        (deleted, is_users)
    }

    /// Adds or replaces one.
    pub fn insert(&mut self, key: DefinitionKey, definition: Definition) -> (Vec<DefinitionKey>, bool) {
        let kept = match &definition {
            Definition::Generated(fingerprint) => Kept::Generated(*fingerprint),
            Definition::HandWritten(_) | Definition::Other => Kept::NotGenerated,
        };
        let namespace = self.intern(&key.namespace);
        let namespaces = match self.by_name.get_mut(key.name.as_str()) {
            Some(namespaces) => namespaces,
            None => self.by_name.entry(Arc::from(key.name.as_str())).or_default(),
        };
        let before = namespaces.insert(namespace, (kept, self.list)).map(|(before, _)| before);
        let is_users = match definition {
            Definition::HandWritten(new) => {
                let is_new = self.hand_written.get(&key) != Some(&*new);
                self.hand_written.insert(key.clone(), *new);
                is_new
            }
            Definition::Generated(_) | Definition::Other => self.hand_written.remove(&key).is_some(),
        };
        let changed = if before == Some(kept) { Vec::new() } else { vec![key] };
        (changed, is_users)
    }

    /// Removes one.
    pub fn remove(&mut self, key: &DefinitionKey) -> (Vec<DefinitionKey>, bool) {
        let mut changed = Vec::new();
        if let Some(namespaces) = self.by_name.get_mut(key.name.as_str()) {
            if namespaces.remove(key.namespace.as_str()).is_some() {
                changed.push(key.clone());
            }
            if namespaces.is_empty() {
                self.by_name.remove(key.name.as_str());
            }
        }
        (changed, self.hand_written.remove(key).is_some())
    }

    fn intern(&mut self, namespace: &str) -> Arc<str> {
        if let Some(known) = self.namespaces.get(namespace) {
            return known.clone();
        }
        let namespace: Arc<str> = Arc::from(namespace);
        self.namespaces.insert(namespace.clone());
        namespace
    }

    /// The fingerprint of the generated definition of this network in this namespace.
    pub fn generated(&self, network: &str, namespace: &str) -> Option<u64> {
        match self.by_name.get(network)?.get(namespace)?.0 {
            Kept::Generated(fingerprint) => Some(fingerprint),
            Kept::NotGenerated => None,
        }
    }

    /// Whether the namespace has a definition of this name that is not usnet's.
    pub fn is_taken(&self, network: &str, namespace: &str) -> bool {
        let kept = self.by_name.get(network).and_then(|namespaces| namespaces.get(namespace));
        kept.is_some_and(|(kept, _)| *kept == Kept::NotGenerated)
    }

    /// The namespaces that have a generated definition of this network.
    pub fn namespaces_of<'a>(&'a self, network: &str) -> impl Iterator<Item = &'a str> {
        let namespaces = self.by_name.get(network).into_iter().flatten();
        namespaces.filter(|(_, (kept, _))| matches!(kept, Kept::Generated(_))).map(|(namespace, _)| &**namespace)
    }

    /// The names of all generated definitions.
    pub fn generated_names(&self) -> impl Iterator<Item = &str> {
        let is_generated =
            |namespaces: &Namespaces| namespaces.values().any(|(kept, _)| matches!(kept, Kept::Generated(_)));
        self.by_name.iter().filter(move |(_, namespaces)| is_generated(namespaces)).map(|(name, _)| &**name)
    }

    /// What users wrote for usnet.
    pub const fn hand_written(&self) -> &BTreeMap<DefinitionKey, HandWritten> {
        &self.hand_written
    }

    /// The same, to be put in order.
    pub const fn hand_written_mut(&mut self) -> &mut BTreeMap<DefinitionKey, HandWritten> {
        &mut self.hand_written
    }

    /// All of them, with what is kept of each.
    #[cfg(test)]
    pub(in crate::controller) fn all(&self) -> BTreeMap<DefinitionKey, Option<u64>> {
        let mut all = BTreeMap::new();
        for (name, namespaces) in &self.by_name {
            for (namespace, (kept, _)) in namespaces {
                let fingerprint = match kept {
                    Kept::Generated(fingerprint) => Some(*fingerprint),
                    Kept::NotGenerated => None,
                };
                all.insert(key(namespace, name), fingerprint);
            }
        }
        all
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.values().map(BTreeMap::len).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

fn key(namespace: &str, name: &str) -> DefinitionKey {
    DefinitionKey { namespace: namespace.to_owned(), name: name.to_owned() }
}
