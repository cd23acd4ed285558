//! Fields of a message, one after the other.

use super::Malformed;

/// The bytes of a structure that are not yet read.
#[derive(Debug, Clone)]
pub struct Reader<'bytes> {
    rest: &'bytes [u8],
    /// The structure, for errors.
    what: &'static str,
}

impl<'bytes> Reader<'bytes> {
    #[must_use]
    pub const fn new(bytes: &'bytes [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns all that is left.
    #[must_use]
    pub const fn rest(&self) -> &'bytes [u8] {
        self.rest
    }

    pub fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], Malformed> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(Malformed::Length(self.what))?;
        self.rest = rest;
        Ok(*array)
    }

    pub fn bytes(&mut self, length: usize) -> Result<&'bytes [u8], Malformed> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Malformed::Length(self.what))?;
        self.rest = rest;
        Ok(bytes)
    }

    pub fn skip(&mut self, length: usize) -> Result<(), Malformed> {
        self.bytes(length).map(drop)
    }

    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(u8::from_be_bytes)
    }

    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_be_bytes)
    }

    /// Takes `length` bytes off, of which `read` were read before as the head of a structure, as
    /// another reader.
    pub fn structure(&mut self, length: u16, read: usize, what: &'static str) -> Result<Self, Malformed> {
        let left = usize::from(length).checked_sub(read).ok_or(Malformed::Length(what))?;
        let bytes = self.bytes(left).map_err(|_| Malformed::Length(what))?;
        Ok(Self::new(bytes, what))
    }
}
