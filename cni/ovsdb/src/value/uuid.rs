//! Row identifiers.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(u128);

/// The text is not a UUID in the form 8-4-4-4-12.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a UUID (expected 8-4-4-4-12 hexadecimal digits)")]
pub struct InvalidUuid(pub String);

const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl FromStr for Uuid {
    type Err = InvalidUuid;

    fn from_str(text: &str) -> Result<Self, InvalidUuid> {
        let invalid = || InvalidUuid(text.to_owned());
        let mut number = 0_u128;
        let mut length = 0;
        for (index, character) in text.chars().enumerate() {
            length += 1;
            if HYPHENS.contains(&index) {
                if character != '-' {
                    return Err(invalid());
                }
                continue;
            }
            let digit = character.to_digit(16).ok_or_else(invalid)?;
            // At most 32 digits are expected; others only have to give an error below.
            number = number.wrapping_shl(4) | u128::from(digit);
        }
        if length == 36 { Ok(Self(number)) } else { Err(invalid()) }
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0;
        write!(
            formatter,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            number >> 96,
            (number >> 80) & 0xffff,
            (number >> 64) & 0xffff,
            (number >> 48) & 0xffff,
            number & 0xffff_ffff_ffff
        )
    }
}

/// The name of a row that an operation of the same transaction inserts.
///
/// Only a [`Transaction`](crate::Transaction) creates names: the database rejects names that are
/// not identifiers or that occur twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedUuid(pub(crate) usize);

impl fmt::Display for NamedUuid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "row{}", self.0)
    }
}
