//! The content of a column and of a row.

use super::atom::Atom;
use std::collections::{BTreeMap, BTreeSet};

/// The content of one column of one row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// A scalar column has exactly one atom, an optional one at most one.
    Set(BTreeSet<Atom>),
    Map(BTreeMap<Atom, Atom>),
}

/// Column names with their values. Missing columns have their default, which is empty, 0, false or
/// "".
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row(BTreeMap<String, Value>);

impl Value {
    #[must_use]
    pub fn empty() -> Self {
        Self::Set(BTreeSet::new())
    }

    pub fn set<A: Into<Atom>>(atoms: impl IntoIterator<Item = A>) -> Self {
        Self::Set(atoms.into_iter().map(Into::into).collect())
    }

    pub fn map<K: Into<Atom>, V: Into<Atom>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self::Map(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl<A: Into<Atom>> From<A> for Value {
    fn from(atom: A) -> Self {
        Self::set([atom])
    }
}

impl<A: Into<Atom>> From<Option<A>> for Value {
    fn from(atom: Option<A>) -> Self {
        Self::set(atom)
    }
}

impl<A: Into<Atom>> From<BTreeSet<A>> for Value {
    fn from(atoms: BTreeSet<A>) -> Self {
        Self::set(atoms)
    }
}

impl<K: Into<Atom>, V: Into<Atom>> From<BTreeMap<K, V>> for Value {
    fn from(pairs: BTreeMap<K, V>) -> Self {
        Self::map(pairs)
    }
}

impl Row {
    /// Returns a row in which every column has its default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with(mut self, column: impl Into<String>, value: impl Into<Value>) -> Self {
        self.set(column, value);
        self
    }

    pub fn set(&mut self, column: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(column.into(), value.into());
    }

    #[must_use]
    pub fn get(&self, column: &str) -> Option<&Value> {
        self.0.get(column)
    }

    /// Returns the columns in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(column, value)| (column.as_str(), value))
    }

    pub(crate) fn remove(&mut self, column: &str) -> Option<Value> {
        self.0.remove(column)
    }
}
