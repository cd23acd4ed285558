//! Conditions that select rows, and changes of rows: `<condition>` and `<mutation>` of RFC 7047
//! §5.1.

use crate::value::{Uuid, Value};
use std::fmt;

/// A comparison of a column with a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub column: &'static str,
    pub function: Function,
    pub value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `>=`
    GreaterOrEqual,
    /// `>`
    Greater,
    /// The column holds all elements of the value.
    Includes,
    /// The column holds no element of the value.
    Excludes,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Mutation {
    pub column: &'static str,
    pub mutator: Mutator,
    /// The number or elements to add, insert or delete.
    pub value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutator {
    /// Adds a number.
    Add,
    /// Adds elements. In a map it adds only missing keys: an existing key keeps its value.
    Insert,
    /// Deletes elements. In a map it deletes the pairs of a map, or the keys of a set.
    Delete,
}

impl Condition {
    #[must_use]
    pub fn new(column: &'static str, function: Function, value: impl Into<Value>) -> Self {
        Self { column, function, value: value.into() }
    }

    #[must_use]
    pub fn equal(column: &'static str, value: impl Into<Value>) -> Self {
        Self::new(column, Function::Equal, value)
    }

    #[must_use]
    pub fn includes(column: &'static str, value: impl Into<Value>) -> Self {
        Self::new(column, Function::Includes, value)
    }

    /// Selects the row with this identifier.
    #[must_use]
    pub fn uuid(uuid: Uuid) -> Self {
        Self::equal("_uuid", uuid)
    }
}

impl Mutation {
    /// Adds to an integer column.
    #[must_use]
    pub fn add(column: &'static str, number: i64) -> Self {
        Self { column, mutator: Mutator::Add, value: number.into() }
    }

    /// Adds elements. An existing key of a map keeps its value.
    #[must_use]
    pub fn insert(column: &'static str, value: impl Into<Value>) -> Self {
        Self { column, mutator: Mutator::Insert, value: value.into() }
    }

    /// Deletes elements. The keys of a map are passed as a set.
    #[must_use]
    pub fn delete(column: &'static str, value: impl Into<Value>) -> Self {
        Self { column, mutator: Mutator::Delete, value: value.into() }
    }
}

impl Function {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::GreaterOrEqual => ">=",
            Self::Greater => ">",
            Self::Includes => "includes",
            Self::Excludes => "excludes",
        }
    }
}

impl Mutator {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+=",
            Self::Insert => "insert",
            Self::Delete => "delete",
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = serde_json::to_string(&self.value).map_err(|_| fmt::Error)?;
        write!(formatter, "{} {} {value}", self.column, self.function.symbol())
    }
}
