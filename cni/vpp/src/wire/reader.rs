//! Reads fields out of a message.

use super::Field;

/// A message ended within a field. No other error is possible: every bit pattern of a field is
/// valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the message ends too early: {field} needs {needed} more bytes and {left} are left")]
pub struct DecodeError {
    /// The field in which it ended.
    pub field: &'static str,
    /// The bytes that the field or a part of it needs.
    pub needed: usize,
    /// The bytes that were left.
    pub left: usize,
}

/// The part of a message that is not yet read.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    field: &'static str,
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, field: "message" }
    }

    /// How many bytes are left.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.rest.len()
    }

    /// Reads a field. `name` appears in the error.
    ///
    /// # Errors
    /// The message ends before the field does.
    pub fn field<F: Field>(&mut self, name: &'static str) -> Result<F, DecodeError> {
        self.field = name;
        F::decode(self)
    }

    /// The next bytes.
    ///
    /// # Errors
    /// Fewer than `count` are left.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| self.too_short(count))?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// Fewer are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(|| self.too_short(N))?;
        self.rest = rest;
        Ok(*taken)
    }

    /// The error that `needed` bytes are not there.
    pub(super) const fn too_short(&self, needed: usize) -> DecodeError {
        DecodeError { field: self.field, needed, left: self.rest.len() }
    }
}
