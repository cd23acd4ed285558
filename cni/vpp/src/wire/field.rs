//! Fields: they write themselves to a [`Writer`] and read themselves from a [`Reader`].

pub trait Field: Sized {
    /// The minimum size of a value in bytes.
    const MIN_SIZE: usize;

    fn encode(&self, writer: &mut Writer);

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// A message ended within a field. No other error is possible: every bit pattern of a field is
/// valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the message is too short: {field} needs {needed} more bytes, {left} are left")]
pub struct DecodeError {
    /// The field in which the message ended.
    pub field: &'static str,
    /// The number of bytes that the field or a part of it needs.
    pub needed: usize,
    /// The number of bytes that were left.
    pub left: usize,
}

/// The part of a message that is not yet read.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    field: &'static str,
}

impl<'a> Reader<'a> {
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, field: "message" }
    }

    /// Returns the number of bytes that are left.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.rest.len()
    }

    /// Reads a field. `name` appears in the error.
    pub fn field<F: Field>(&mut self, name: &'static str) -> Result<F, DecodeError> {
        self.field = name;
        F::decode(self)
    }

    /// Takes the next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| self.too_short(count))?;
        self.rest = rest;
        Ok(taken)
    }

    /// Takes the next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(|| self.too_short(N))?;
        self.rest = rest;
        Ok(*taken)
    }

    /// Returns the error that fewer than `needed` bytes are left.
    pub(super) const fn too_short(&self, needed: usize) -> DecodeError {
        DecodeError { field: self.field, needed, left: self.rest.len() }
    }
}

/// Collects the bytes of a message. It has no `Debug`, because a message may contain a secret.
#[derive(Default)]
#[expect(missing_debug_implementations, reason = "a message may hold a secret")]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    #[must_use]
    pub const fn append_to(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    pub fn field(&mut self, field: &impl Field) {
        field.encode(self);
    }

    /// Appends bytes unchanged.
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends zeros.
    pub fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
