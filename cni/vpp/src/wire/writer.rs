//! Writes the fields of a message.

use super::Field;

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
