//! Conversion from the generic value of a column to the type that the column has in the schema.

use super::{Atom, Uuid, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The number of elements that a column may have. It determines the meaning of "modify" of a
/// monitor: the new value of a single one, the difference of a set or map (ovsdb-server(7),
/// "update2").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// At most one element.
    Single,
    Set,
    Map,
}

/// A type that one atom can have.
pub trait FromAtom: Sized {
    /// The expected value, for an error message.
    const EXPECTED: &'static str;

    fn from_atom(atom: &Atom) -> Option<Self>;
}

/// A type that a column can have. A column that is missing in a row has `Default`.
pub trait FromValue: Sized + Default {
    /// The expected value, for an error message.
    const EXPECTED: &'static str;
    const KIND: ColumnKind;

    fn from_value(value: &Value) -> Option<Self>;
}

impl FromAtom for i64 {
    const EXPECTED: &'static str = "an integer";

    fn from_atom(atom: &Atom) -> Option<Self> {
        if let Atom::Integer(value) = atom { Some(*value) } else { None }
    }
}

impl FromAtom for u16 {
    const EXPECTED: &'static str = "an integer from 0 to 65535";

    fn from_atom(atom: &Atom) -> Option<Self> {
        i64::from_atom(atom).and_then(|value| Self::try_from(value).ok())
    }
}

impl FromAtom for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_atom(atom: &Atom) -> Option<Self> {
        if let Atom::Boolean(value) = atom { Some(*value) } else { None }
    }
}

impl FromAtom for String {
    const EXPECTED: &'static str = "a string";

    fn from_atom(atom: &Atom) -> Option<Self> {
        if let Atom::String(value) = atom { Some(value.clone()) } else { None }
    }
}

impl FromAtom for Uuid {
    const EXPECTED: &'static str = "a row identifier";

    fn from_atom(atom: &Atom) -> Option<Self> {
        if let Atom::Uuid(value) = atom { Some(*value) } else { None }
    }
}

impl<A: FromAtom + Default> FromValue for A {
    const EXPECTED: &'static str = A::EXPECTED;
    const KIND: ColumnKind = ColumnKind::Single;

    fn from_value(value: &Value) -> Option<Self> {
        Option::<A>::from_value(value)?
    }
}

impl<A: FromAtom> FromValue for Option<A> {
    const EXPECTED: &'static str = A::EXPECTED;
    const KIND: ColumnKind = ColumnKind::Single;

    fn from_value(value: &Value) -> Option<Self> {
        let Value::Set(atoms) = value else { return None };
        match (atoms.first(), atoms.len()) {
            (None, _) => Some(None),
            (Some(atom), 1) => A::from_atom(atom).map(Some),
            (Some(_), _) => None,
        }
    }
}

impl<A: FromAtom + Ord> FromValue for BTreeSet<A> {
    const EXPECTED: &'static str = A::EXPECTED;
    const KIND: ColumnKind = ColumnKind::Set;

    fn from_value(value: &Value) -> Option<Self> {
        let Value::Set(atoms) = value else { return None };
        atoms.iter().map(A::from_atom).collect()
    }
}

impl FromValue for BTreeMap<String, String> {
    const EXPECTED: &'static str = "a map from string to string";
    const KIND: ColumnKind = ColumnKind::Map;

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Map(pairs) => {
                pairs.iter().map(|(key, value)| Some((String::from_atom(key)?, String::from_atom(value)?))).collect()
            }
            Value::Set(_) => None,
        }
    }
}
