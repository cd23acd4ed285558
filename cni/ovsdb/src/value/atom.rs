//! Atoms, the smallest values.

use super::{NamedUuid, Uuid};
use std::cmp::Ordering;

/// One element of a set, or one key or value of a map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    Integer(i64),
    Real(Real),
    Boolean(bool),
    String(String),
    /// A reference to a row.
    Uuid(Uuid),
    /// A reference to a row that the same transaction inserts.
    NamedUuid(NamedUuid),
}

/// A floating-point number with a total order, so that it can be in a set.
#[derive(Debug, Clone, Copy)]
pub struct Real(pub f64);

impl PartialEq for Real {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Real {}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Real {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

macro_rules! atom_from {
    ($($type:ty => $variant:ident),* $(,)?) => {
        $(impl From<$type> for Atom {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

atom_from! {
    i64 => Integer,
    i32 => Integer,
    u32 => Integer,
    u16 => Integer,
    bool => Boolean,
    &str => String,
    String => String,
    &String => String,
    Uuid => Uuid,
    NamedUuid => NamedUuid,
}
