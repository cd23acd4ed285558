//! The cache of NetworkAttachmentDefinitions (NADs). There may be a million of usnet's own, so only
//! a fingerprint of each is cached; of NADs for other plugins only that they exist.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::watcher::Event;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use usnet_crds::legacy::{InvalidNadConfig, NadConfig};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NadKey {
    pub namespace: String,
    /// The name of the NAD, which for a generated one is also the name of its network.
    pub name: String,
}

impl fmt::Display for NadKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// A parsed NetworkAttachmentDefinition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nad {
    /// A NAD that the controller created, with its fingerprint.
    Generated(u64),
    /// A NAD that a user created for usnet's plugin.
    User(Box<UserNad>),
    /// A NAD for another plugin.
    Other,
}

/// A NAD that a user created for usnet's plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserNad {
    pub uid: String,
    pub created: Option<Time>,
    /// The parsed `spec.config`, or why it is invalid.
    pub config: Result<NadConfig, InvalidNadConfig>,
    /// Whether the NAD has an `ipam` of its own.
    pub has_ipam: bool,
    /// What is wrong with that `ipam`.
    pub ipam_problem: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct NadSet {
    by_name: BTreeMap<Arc<str>, Namespaces>,
    user_nads: BTreeMap<NadKey, UserNad>,
    /// Interned names of namespaces.
    namespaces: BTreeSet<Arc<str>>,
    /// The number of the current list.
    list: u32,
    /// Whether NADs can be read. Their CRD is installed with Multus.
    pub availability: Availability,
}

/// Cached NADs of one name, by namespace, each with the number of the list that contained it last.
type Namespaces = BTreeMap<Arc<str>, (CachedNad, u32)>;

/// The cached part of one NAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CachedNad {
    Generated(u64),
    NotGenerated,
}

/// Whether NADs can be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Availability {
    /// The first list is being read.
    #[default]
    Reading,
    /// The CRD is not installed, or access is denied.
    Unavailable,
    Known,
}

impl NadSet {
    /// An empty, complete set.
    pub fn none() -> Self {
        Self { availability: Availability::Known, ..Self::default() }
    }

    /// Applies a watch event; returns the NADs that changed, and whether NADs of users changed.
    pub fn apply(&mut self, event: Event<(NadKey, Nad)>) -> (Vec<NadKey>, bool) {
        match event {
            Event::Init => {
                self.list = self.list.wrapping_add(1);
                (Vec::new(), false)
            }
            Event::Apply((key, nad)) | Event::InitApply((key, nad)) => self.insert(key, nad),
            Event::Delete((key, _)) => self.remove(&key),
            Event::InitDone => self.finish_list(),
        }
    }

    fn finish_list(&mut self) -> (Vec<NadKey>, bool) {
        let list = self.list;
        let mut deleted = Vec::new();
        for (name, namespaces) in &self.by_name {
            let old = namespaces.iter().filter(|(_, (_, seen))| *seen != list);
            deleted.extend(old.map(|(namespace, _)| key(namespace, name)));
        }
        let mut user_nads_changed = self.availability != Availability::Known;
        for key in &deleted {
            user_nads_changed |= self.remove(key).1;
        }
        self.availability = Availability::Known;
        (deleted, user_nads_changed)
    }

    pub fn insert(&mut self, key: NadKey, nad: Nad) -> (Vec<NadKey>, bool) {
        let cached = match &nad {
            Nad::Generated(fingerprint) => CachedNad::Generated(*fingerprint),
            Nad::User(_) | Nad::Other => CachedNad::NotGenerated,
        };
        let namespace = self.intern(&key.namespace);
        let namespaces = match self.by_name.get_mut(key.name.as_str()) {
            Some(namespaces) => namespaces,
            None => self.by_name.entry(Arc::from(key.name.as_str())).or_default(),
        };
        let before = namespaces.insert(namespace, (cached, self.list)).map(|(before, _)| before);
        let user_nads_changed = match nad {
            Nad::User(new) => {
                let is_new = self.user_nads.get(&key) != Some(&*new);
                self.user_nads.insert(key.clone(), *new);
                is_new
            }
            Nad::Generated(_) | Nad::Other => self.user_nads.remove(&key).is_some(),
        };
        let changed = if before == Some(cached) { Vec::new() } else { vec![key] };
        (changed, user_nads_changed)
    }

    pub fn remove(&mut self, key: &NadKey) -> (Vec<NadKey>, bool) {
        let mut changed = Vec::new();
        if let Some(namespaces) = self.by_name.get_mut(key.name.as_str()) {
            if namespaces.remove(key.namespace.as_str()).is_some() {
                changed.push(key.clone());
            }
            if namespaces.is_empty() {
                self.by_name.remove(key.name.as_str());
            }
        }
        (changed, self.user_nads.remove(key).is_some())
    }

    fn intern(&mut self, namespace: &str) -> Arc<str> {
        if let Some(known) = self.namespaces.get(namespace) {
            return known.clone();
        }
        let namespace: Arc<str> = Arc::from(namespace);
        self.namespaces.insert(namespace.clone());
        namespace
    }

    /// The fingerprint of the generated NAD of this network in this namespace.
    pub fn generated(&self, network: &str, namespace: &str) -> Option<u64> {
        match self.by_name.get(network)?.get(namespace)?.0 {
            CachedNad::Generated(fingerprint) => Some(fingerprint),
            CachedNad::NotGenerated => None,
        }
    }

    /// Whether a NAD of this name that usnet does not own exists in the namespace.
    pub fn is_taken(&self, network: &str, namespace: &str) -> bool {
        let cached = self.by_name.get(network).and_then(|namespaces| namespaces.get(namespace));
        cached.is_some_and(|(cached, _)| *cached == CachedNad::NotGenerated)
    }

    /// The namespaces that have a generated NAD of this network.
    pub fn namespaces_of<'a>(&'a self, network: &str) -> impl Iterator<Item = &'a str> {
        let namespaces = self.by_name.get(network).into_iter().flatten();
        namespaces
            .filter(|(_, (cached, _))| matches!(cached, CachedNad::Generated(_)))
            .map(|(namespace, _)| &**namespace)
    }

    /// The names of all generated NADs.
    pub fn generated_names(&self) -> impl Iterator<Item = &str> {
        let is_generated =
            |namespaces: &Namespaces| namespaces.values().any(|(cached, _)| matches!(cached, CachedNad::Generated(_)));
        self.by_name.iter().filter(move |(_, namespaces)| is_generated(namespaces)).map(|(name, _)| &**name)
    }

    /// Users' NADs for usnet's plugin.
    pub const fn user_nads(&self) -> &BTreeMap<NadKey, UserNad> {
        &self.user_nads
    }

    /// Same as [`Self::user_nads`], mutable, to sort them.
    pub const fn user_nads_mut(&mut self) -> &mut BTreeMap<NadKey, UserNad> {
        &mut self.user_nads
    }

    /// All NADs with their fingerprints.
    #[cfg(test)]
    pub(crate) fn all(&self) -> BTreeMap<NadKey, Option<u64>> {
        let mut all = BTreeMap::new();
        for (name, namespaces) in &self.by_name {
            for (namespace, (cached, _)) in namespaces {
                let fingerprint = match cached {
                    CachedNad::Generated(fingerprint) => Some(*fingerprint),
                    CachedNad::NotGenerated => None,
                };
                all.insert(key(namespace, name), fingerprint);
            }
        }
        all
    }

    pub fn len(&self) -> usize {
        self.by_name.values().map(BTreeMap::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

fn key(namespace: &str, name: &str) -> NadKey {
    NadKey { namespace: namespace.to_owned(), name: name.to_owned() }
}
