//! Pods, by the selectors of policies that select them. What labels they have is not in here:
//! selectors have ids, and who knows the labels says which of them select a pod.

use crate::NamespaceName;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

/// The digits of an id.
pub const SELECTOR_ID_LENGTH: usize = 32;

/// The id of a selector of pods, which follows from the pods that it selects and in which
/// namespaces: a selector that is changed is another one. Ids are hashes that no tenant can choose:
/// two selectors with one id would open to one tenant what another one allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SelectorId(u128);

/// A text that is no id of a selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no id of a selector: use {SELECTOR_ID_LENGTH} hexadecimal digits")]
pub struct InvalidSelectorId(String);

/// Pods of a namespace that the selectors of a network's policies cannot tell apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodClass {
    pub namespace: NamespaceName,
    /// The selectors that select the pods, of those whose result is known.
    pub selected_by: BTreeSet<SelectorId>,
    /// The selectors of policies of the namespace that do not select them. Of a selector that is in
    /// neither set it is not known, for example because it is newer.
    pub not_selected_by: BTreeSet<SelectorId>,
}

/// A pod of a network with policies, as nodes know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPod {
    pub class: Arc<PodClass>,
    /// Its addresses on the network.
    pub addresses: BTreeSet<IpAddr>,
}

/// The pods of a network, by uid.
pub type KnownPods = BTreeMap<String, KnownPod>;

/// The classes of the pods with these addresses. An address that is not here is of no pod that any
/// selector selects, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodAddresses(pub BTreeMap<IpAddr, Arc<PodClass>>);

impl SelectorId {
    /// The id of a selector with this hash.
    pub const fn new(hash: u128) -> Self {
        Self(hash)
    }
}

impl fmt::Display for SelectorId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl FromStr for SelectorId {
    type Err = InvalidSelectorId;

    fn from_str(text: &str) -> Result<Self, InvalidSelectorId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_id = text.len() == SELECTOR_ID_LENGTH && text.bytes().all(is_digit);
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_id);
        number.map(Self).ok_or_else(|| InvalidSelectorId(text.to_owned()))
    }
}

impl TryFrom<String> for SelectorId {
    type Error = InvalidSelectorId;

    fn try_from(text: String) -> Result<Self, InvalidSelectorId> {
        text.parse()
    }
}

impl From<SelectorId> for String {
    fn from(id: SelectorId) -> Self {
        id.to_string()
    }
}

impl PodClass {
    /// Pods of a namespace of which no selector is known.
    pub const fn of_namespace(namespace: NamespaceName) -> Self {
        Self { namespace, selected_by: BTreeSet::new(), not_selected_by: BTreeSet::new() }
    }

    /// Whether a selector of the pods' namespace selects them; `None` if it is not known.
    pub fn is_selected_by(&self, selector: SelectorId) -> Option<bool> {
        match (self.selected_by.contains(&selector), self.not_selected_by.contains(&selector)) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }
}

impl PodAddresses {
    /// The addresses of these pods. One that several pods of different classes have is none of
    /// either.
    pub fn of<'pod>(pods: impl IntoIterator<Item = &'pod KnownPod>) -> Self {
        let mut all: BTreeMap<IpAddr, Option<&Arc<PodClass>>> = BTreeMap::new();
        for KnownPod { class, addresses } in pods {
            for address in addresses {
                let known = all.entry(*address).or_insert(Some(class));
                *known = known.filter(|known| *known == class);
            }
        }
        Self(all.into_iter().filter_map(|(address, class)| Some((address, Arc::clone(class?)))).collect())
    }

    /// Whether an address is that of a pod that one of the selectors selects.
    pub fn is_selected_by(&self, address: IpAddr, selectors: &BTreeSet<SelectorId>) -> bool {
        self.0.get(&address).is_some_and(|class| !class.selected_by.is_disjoint(selectors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_text() {
        let text = "00000000000000000000000000abcdef";
        let id: SelectorId = text.parse().unwrap();
        assert_eq!((id, id.to_string().as_str()), (SelectorId::new(0xab_cdef), text));
        for text in ["", "0", "0000000000000000000000000000000G", "+0000000000000000000000000abcdef", &"0".repeat(33)] {
            assert!(text.parse::<SelectorId>().is_err(), "{text}");
        }
        assert!("00000000000000000000000000ABCDEF".parse::<SelectorId>().is_err(), "it would have two texts");
    }
}
