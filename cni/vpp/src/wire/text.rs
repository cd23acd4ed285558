//! Texts of fixed and of any length, and secrets.

use super::field::{DecodeError, Field, Reader, Writer};
use std::fmt::{self, Debug, Display, Formatter};

/// The text does not fit its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// VPP would truncate the text, or not find its end.
    #[error("the text has {length} bytes; VPP accepts at most {limit} here")]
    TooLong {
        /// The length of the text, in bytes.
        length: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A NUL ends a text for VPP.
    #[error("the text contains a NUL at byte {position}, where VPP would end it")]
    Nul {
        /// The index of the NUL.
        position: usize,
    },
}

/// A `string name[N]` of VPP: at most `N - 1` bytes, padded with NUL.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FixedText<const N: usize>(String);

impl<const N: usize> FixedText<N> {
    /// The longest text, in bytes: one less than the field, for the NUL at its end.
    pub const LIMIT: usize = N.saturating_sub(1);

    /// Returns an error if the text is longer than [`Self::LIMIT`] bytes or contains a NUL.
    pub fn new(text: impl Into<String>) -> Result<Self, TextError> {
        let text = text.into();
        if text.len() > Self::LIMIT {
            return Err(TextError::TooLong { length: text.len(), limit: Self::LIMIT });
        }
        match text.find('\0') {
            Some(position) => Err(TextError::Nul { position }),
            None => Ok(Self(text)),
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl<const N: usize> Field for FixedText<N> {
    const MIN_SIZE: usize = N;

    fn encode(&self, writer: &mut Writer) {
        // A text from VPP may fill the field, or be longer than it after invalid bytes were
        // replaced.
        let bytes = self.0.as_bytes();
        let bytes = bytes.get(..N).unwrap_or(bytes);
        writer.put(bytes);
        writer.zeros(N - bytes.len());
    }

    /// Replaces invalid UTF-8 with U+FFFD.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes = reader.take(N)?;
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(Self(String::from_utf8_lossy(text).into_owned()))
    }
}

impl<const N: usize> TryFrom<&str> for FixedText<N> {
    type Error = TextError;

    fn try_from(text: &str) -> Result<Self, TextError> {
        Self::new(text)
    }
}

impl<const N: usize> Debug for FixedText<N> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0, formatter)
    }
}

impl<const N: usize> Display for FixedText<N> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, formatter)
    }
}

/// A `string name[]` of VPP: its length as u32, and its bytes.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(String);

impl Text {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl Field for Text {
    const MIN_SIZE: usize = u32::MIN_SIZE;

    fn encode(&self, writer: &mut Writer) {
        // This is not reached: no message is that long.
        writer.field(&u32::try_from(self.0.len()).unwrap_or(u32::MAX));
        writer.put(self.0.as_bytes());
    }

    /// Replaces invalid UTF-8 with U+FFFD.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let length = u32::decode(reader)?;
        let bytes = reader.take(usize::try_from(length).unwrap_or(usize::MAX))?;
        Ok(Self(String::from_utf8_lossy(bytes).into_owned()))
    }
}

impl Debug for Text {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0, formatter)
    }
}

/// A secret of a memif, of at most 23 bytes; empty for no secret. It never appears in a log.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(FixedText<24>);

impl Secret {
    /// Returns an error if the secret is longer than 23 bytes or contains a NUL. The error does not
    /// contain it.
    pub fn new(secret: impl Into<String>) -> Result<Self, TextError> {
        FixedText::new(secret).map(Self)
    }

    /// Returns the secret itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.as_str()
    }
}

impl Field for Secret {
    const MIN_SIZE: usize = 24;

    fn encode(&self, writer: &mut Writer) {
        self.0.encode(writer);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        FixedText::decode(reader).map(Self)
    }
}

impl Debug for Secret {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.expose().is_empty() { "none" } else { "<redacted>" })
    }
}
