//! What a field is: it writes itself to a [`Writer`] and reads itself from a [`Reader`].

/// A type with a form on the wire.
pub trait Field: Sized {
    /// The minimum number of bytes of a value.
    const MIN_SIZE: usize;

    /// Appends the value.
    fn encode(&self, writer: &mut Writer);

    /// Reads a value.
    ///
    /// # Errors
    /// The message ends before the value does.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// A message ended within a field. No other error is possible: every bit pattern of a field is
/// valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the message is too short: {field} needs {needed} more bytes, {left} are left")]
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

/// Collects the bytes of a message. It has no `Debug`: a message may contain a secret.
#[derive(Default)]
#[expect(missing_debug_implementations, reason = "a message may hold a secret")]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Appends to `bytes`.
    #[must_use]
    pub const fn append_to(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// Appends a field.
    pub fn field(&mut self, field: &impl Field) {
        field.encode(self);
    }

    /// Appends bytes as they are.
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends zeros.
    pub fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    /// What was written.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
