//! The bytes of a connection, as messages. No IO. All versions of OpenFlow have the same header:
//! version, type, length, and the transaction id that the reply repeats.
//!
//! Malformed bytes of a switch are an error: a connection has no other way to its next message.

mod endpoint;
mod reader;

pub use endpoint::Endpoint;
pub use reader::Reader;

/// The length of a header.
const HEADER: usize = 8;

/// Types of messages that all versions share.
pub const HELLO: u8 = 0;
pub const ERROR: u8 = 1;
pub const ECHO_REQUEST: u8 = 2;
pub const ECHO_REPLY: u8 = 3;

/// What a switch sent that is not OpenFlow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("the length of {0} is wrong")]
    Length(&'static str),
    #[error("{0} has an unexpected value")]
    Value(&'static str),
    #[error("a message is of version {0}")]
    Version(u8),
    #[error("{0} messages came without the awaited reply")]
    TooMany(usize),
}

/// A message of any version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub version: u8,
    /// The type.
    pub kind: u8,
    /// The transaction id.
    pub id: u32,
    /// What follows the header.
    pub body: Vec<u8>,
}

impl Message {
    /// Appends the bytes of a message. Bodies are shorter than the length has room for: their parts
    /// have limits.
    pub fn encode(version: u8, kind: u8, id: u32, body: &[u8], to: &mut Vec<u8>) {
        let length = u16::try_from(HEADER + body.len()).unwrap_or(u16::MAX);
        to.extend([version, kind]);
        to.extend(length.to_be_bytes());
        to.extend(id.to_be_bytes());
        to.extend(body);
    }

    /// Takes the first message off bytes, and the number of its bytes; none if some are missing.
    fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let Some([version, kind, high, low, id @ ..]) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if length < HEADER {
            return Err(Malformed::Length("a message"));
        }
        let body = bytes.get(HEADER..length).map(<[u8]>::to_vec);
        let message = |body| Self { version: *version, kind: *kind, id: u32::from_be_bytes(*id), body };
        Ok(body.map(|body| (message(body), length)))
    }
}

/// Why a switch refused a message: the type and the code of an error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    pub kind: u16,
    pub code: u16,
}

impl Refusal {
    /// Reads the body of an error message. The first bytes of the refused message follow.
    pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body, "an error message");
        Ok(Self { kind: reader.u16()?, code: reader.u16()? })
    }
}
