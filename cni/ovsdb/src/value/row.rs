//! The content of a column and of a row.

use super::atom::Atom;
use std::collections::{BTreeMap, BTreeSet};

/// The content of one column of one row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// Any number of atoms. A scalar column has exactly one, an optional one at most one.
    Set(BTreeSet<Atom>),
    /// Keys with values.
    Map(BTreeMap<Atom, Atom>),
}

/// Column names with their values. Columns that are not in it have their default, which is empty,
/// 0, false or "".
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row(BTreeMap<String, Value>);

impl Value {
    /// The empty set.
    #[must_use]
    pub fn empty() -> Self {
        Self::Set(BTreeSet::new())
    }

    /// A set of atoms.
    pub fn set<A: Into<Atom>>(atoms: impl IntoIterator<Item = A>) -> Self {
        Self::Set(atoms.into_iter().map(Into::into).collect())
    }

    /// A map of atoms.
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
    /// A row in which every column has its default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The row with this column set.
    #[must_use]
    pub fn with(mut self, column: impl Into<String>, value: impl Into<Value>) -> Self {
        self.set(column, value);
        self
    }

    /// Sets a column.
    pub fn set(&mut self, column: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(column.into(), value.into());
    }

    /// A column, unless it is not in the row.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&Value> {
        self.0.get(column)
    }

    /// The columns in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(column, value)| (column.as_str(), value))
    }

    pub(crate) fn remove(&mut self, column: &str) -> Option<Value> {
        self.0.remove(column)
    }
}
