//! The JSON form of values (RFC 7047 §5.1): `["set", [...]]`, `["map", [[k, v], ...]]`, `["uuid",
//! "..."]`, `["named-uuid", "..."]`. A set with one element may be the bare atom, and is written in
//! this form.

use super::{Atom, InvalidUuid, Real, Row, Uuid, Value};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value as Json;

/// JSON from the database that is not an OVSDB value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    #[error("expected {expected}, the database sent {found}")]
    Unexpected {
        expected: &'static str,
        /// The JSON, shortened.
        found: String,
    },
    #[error(transparent)]
    Uuid(#[from] InvalidUuid),
}

/// The most characters of the peer's JSON in an error: enough to recognize it, and short enough for
/// a log line.
const EXCERPT_MAX: usize = 200;

impl ParseError {
    pub(crate) fn new(expected: &'static str, found: &Json) -> Self {
        Self::Unexpected { expected, found: shortened(&found.to_string()) }
    }
}

/// Cuts a text that may be very long.
pub(crate) fn shortened(text: &str) -> String {
    let mut excerpt: String = text.chars().take(EXCERPT_MAX).collect();
    if excerpt.len() < text.len() {
        excerpt.push('…');
    }
    excerpt
}

pub(crate) fn from_json(json: &Json) -> Result<Value, ParseError> {
    let Json::Array(parts) = json else { return atom(json).map(Value::from) };
    match parts.as_slice() {
        [Json::String(tag), Json::Array(atoms)] if tag == "set" => {
            atoms.iter().map(atom).collect::<Result<_, _>>().map(Value::Set)
        }
        [Json::String(tag), Json::Array(pairs)] if tag == "map" => {
            pairs.iter().map(pair).collect::<Result<_, _>>().map(Value::Map)
        }
        _ => atom(json).map(Value::from),
    }
}

pub(crate) fn row_from_json(json: &Json) -> Result<Row, ParseError> {
    let Json::Object(columns) = json else { return Err(ParseError::new("a row", json)) };
    let mut row = Row::new();
    for (column, value) in columns {
        row.set(column, from_json(value)?);
    }
    Ok(row)
}

fn pair(json: &Json) -> Result<(Atom, Atom), ParseError> {
    match json.as_array().map(Vec::as_slice) {
        Some([key, value]) => Ok((atom(key)?, atom(value)?)),
        _ => Err(ParseError::new("a pair", json)),
    }
}

fn atom(json: &Json) -> Result<Atom, ParseError> {
    let unexpected = || ParseError::new("an atom", json);
    match json {
        Json::String(text) => Ok(Atom::from(text)),
        Json::Bool(value) => Ok(Atom::from(*value)),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Ok(Atom::from(integer)),
            None => number.as_f64().map(|real| Atom::Real(Real(real))).ok_or_else(unexpected),
        },
        Json::Array(parts) => match parts.as_slice() {
            [Json::String(tag), Json::String(text)] if tag == "uuid" => Ok(Atom::Uuid(text.parse::<Uuid>()?)),
            _ => Err(unexpected()),
        },
        Json::Null | Json::Object(_) => Err(unexpected()),
    }
}

impl Serialize for Atom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Real(value) => serializer.serialize_f64(value.0),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::String(value) => serializer.serialize_str(value),
            Self::Uuid(value) => ("uuid", value.to_string()).serialize(serializer),
            Self::NamedUuid(value) => ("named-uuid", value.to_string()).serialize(serializer),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Set(atoms) => match atoms.first() {
                Some(atom) if atoms.len() == 1 => atom.serialize(serializer),
                _ => ("set", atoms).serialize(serializer),
            },
            Self::Map(pairs) => {
                let mut sequence = serializer.serialize_seq(Some(2))?;
                sequence.serialize_element("map")?;
                sequence.serialize_element(&pairs.iter().collect::<Vec<_>>())?;
                sequence.end()
            }
        }
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut columns = serializer.serialize_map(None)?;
        for (column, value) in self.iter() {
            columns.serialize_entry(column, value)?;
        }
        columns.end()
    }
}
