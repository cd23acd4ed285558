//! Sorted lists of shared entries. A thousand nodes that have a thousand networks in common are a million entries; what is equal among them is
//! kept once.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use usnet_crds::NodeNetwork;
use usnet_crds::node_state::NetworkReport;

/// Something that is found by its name.
pub trait Named {
    /// The name, which no other in the same list has.
    fn name(&self) -> &str;
}

impl Named for NodeNetwork {
    fn name(&self) -> &str {
        self.name.as_str()
    }
}

impl Named for NetworkReport {
    fn name(&self) -> &str {
        &self.name
    }
}

/// Entries sorted by name, one of each name. An entry costs a list one pointer, and a copy of the list is one pointer until it is changed.
#[derive(Debug, PartialEq, Eq)]
pub struct ByName<T>(Arc<Vec<Arc<T>>>);

impl<T> Clone for ByName<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for ByName<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Named> ByName<T> {
    /// The entry of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<T>> {
        self.0.get(self.place(name).ok()?)
    }

    /// As [`Self::get`], but looks first where the last list had it.
    pub fn get_near(&self, name: &str, near: &mut usize) -> Option<&Arc<T>> {
        self.0.get(self.place_near(name, near).ok()?)
    }

    /// As [`Self::place`], but looks first where the last list had it: most lists have the same names.
    ///
    /// # Errors
    /// When there is none.
    pub fn place_near(&self, name: &str, near: &mut usize) -> Result<usize, usize> {
        if self.0.get(*near).is_some_and(|entry| entry.name() == name) {
            return Ok(*near);
        }
        let place = self.place(name);
        *near = place.unwrap_or(*near);
        place
    }

    /// Where the entry of this name is, or where it would be put.
    ///
    /// # Errors
    /// When there is none.
    pub fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|entry| entry.name().cmp(name))
    }

    /// The entries in the order of their names.
    pub fn iter(&self) -> std::slice::Iter<'_, Arc<T>> {
        self.0.iter()
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|entry| entry.name())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an entry, or puts it in the place of the one with its name.
    pub fn insert(&mut self, entry: Arc<T>) {
        let place = self.place(entry.name());
        let list = Arc::make_mut(&mut self.0);
        match place {
            Ok(index) => {
                if let Some(old) = list.get_mut(index) {
                    *old = entry;
                }
            }
            Err(index) => list.insert(index, entry),
        }
    }

    /// Takes the entry of this name out.
    pub fn remove(&mut self, name: &str) -> Option<Arc<T>> {
        self.place(name).ok().map(|index| Arc::make_mut(&mut self.0).remove(index))
    }

    /// Names whose entries are not the same in both lists. Entries that are shared cost one comparison of pointers.
    pub fn differing<'a>(&'a self, other: &'a Self) -> Vec<&'a str>
    where
        T: Eq,
    {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Vec::new();
        }
        let (left, right) = without_common_ends(&self.0, &other.0);
        let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
        let mut names = Vec::new();
        while let Some(order) = order(left.peek(), right.peek()) {
            let one = left.next_if(|_| order.is_le());
            let two = right.next_if(|_| order.is_ge());
            match (one, two) {
                (Some(one), Some(two)) if one == two => {}
                (one, two) => names.extend(one.or(two).map(|entry| entry.name())),
            }
        }
        names
    }
}

/// What lies between the entries that both lists share at their beginning and at their end: most often one entry of many.
fn without_common_ends<'a, T>(one: &'a [Arc<T>], two: &'a [Arc<T>]) -> (&'a [Arc<T>], &'a [Arc<T>]) {
    let is_shared = |(one, two): &(&Arc<T>, &Arc<T>)| Arc::ptr_eq(one, two);
    let first = one.iter().zip(two).take_while(is_shared).count();
    let (one, two) = (one.get(first..).unwrap_or_default(), two.get(first..).unwrap_or_default());
    let last = one.iter().rev().zip(two.iter().rev()).take_while(is_shared).count();
    let end = |list: &'a [Arc<T>]| list.get(..list.len() - last).unwrap_or_default();
    (end(one), end(two))
}

/// Which of two entries comes first; one that is missing comes last.
fn order<T: Named>(one: Option<&&Arc<T>>, two: Option<&&Arc<T>>) -> Option<Ordering> {
    match (one, two) {
        (None, None) => None,
        (Some(_), None) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Greater),
        (Some(one), Some(two)) if Arc::ptr_eq(one, two) => Some(Ordering::Equal),
        (Some(one), Some(two)) => Some(one.name().cmp(two.name())),
    }
}

impl<T: Named> FromIterator<Arc<T>> for ByName<T> {
    /// Of several with one name the last stays.
    fn from_iter<I: IntoIterator<Item = Arc<T>>>(entries: I) -> Self {
        let mut entries: Vec<Arc<T>> = entries.into_iter().collect();
        entries.reverse();
        entries.sort_by(|one, two| one.name().cmp(two.name()));
        entries.dedup_by(|later, first| later.name() == first.name());
        entries.shrink_to_fit();
        Self(Arc::new(entries))
    }
}

impl<T: Named> FromIterator<T> for ByName<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        entries.into_iter().map(Arc::new).collect()
    }
}

/// Finds what is known already, so that equal entries of different lists are one.
#[derive(Debug)]
pub struct Pool<T> {
    known: BTreeMap<String, Vec<Weak<T>>>,
    /// How many names there were when those that no list has were forgotten last.
    tidied: usize,
}

/// So many names are not worth looking for some to forget.
const FEW: usize = 64;

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), tidied: 0 }
    }
}

impl<T: Named + Eq> Pool<T> {
    /// Puts known entries in the place of equal ones, or all of the list that was known before.
    pub fn share(&mut self, list: &mut ByName<T>, before: Option<&ByName<T>>) {
        if let Some(before) = before.filter(|before| *before == list) {
            *list = before.clone();
            return;
        }
        for entry in Arc::make_mut(&mut list.0) {
            if let Some(known) = self.known(entry) {
                *entry = known;
            }
        }
        if self.known.len() > self.tidied * 2 + FEW {
            self.known.retain(|_, variants| variants.iter().any(|variant| variant.strong_count() > 0));
            self.tidied = self.known.len();
        }
    }

    /// The equal entry that is known; otherwise this one is from now on.
    fn known(&mut self, entry: &Arc<T>) -> Option<Arc<T>> {
        let Some(variants) = self.known.get_mut(entry.name()) else {
            self.known.insert(entry.name().to_owned(), vec![Arc::downgrade(entry)]);
            return None;
        };
        // Newest first: that is what most lists are about to have.
        let known = variants.iter().rev().filter_map(Weak::upgrade).find(|known| known == entry);
        if known.is_none() {
            variants.retain(|variant| variant.strong_count() > 0);
            variants.push(Arc::downgrade(entry));
        }
        known
    }
}

#[cfg(test)]
mod tests;
