//! OVSDB values (RFC 7047 §5.1) and their JSON form.
//!
//! A column holds a set or a map; a lone atom is a set with one element, so that there are two
//! cases and not three.

mod atom;
mod decode;
mod json;
mod row;
#[cfg(test)]
mod tests;
mod uuid;

pub use atom::{Atom, Real};
pub use decode::{ColumnKind, FromAtom, FromValue};
pub use json::ParseError;
pub use row::{Row, Value};
pub use uuid::{InvalidUuid, NamedUuid, Uuid};

pub(crate) use json::{from_json, row_from_json, shortened};
