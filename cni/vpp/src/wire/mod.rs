//! The wire format of the binary API, without IO: bytes in, messages out, and vice versa.
//!
//! A stream is a sequence of frames: a header of 16 bytes (8 unused, the length of the message as
//! u32, 4 unused) and the message. A message is its id (u16), an [`Envelope`] and its fields. All
//! integers are big-endian and nothing is aligned.

mod envelope;
mod field;
mod frame;
mod macros;
#[cfg(test)]
mod tests;
mod text;
mod types;

pub use crate::messages::write_message;
pub use envelope::{Envelope, Header, message_id, read_envelope, write_frame};
pub use field::{DecodeError, Field, Reader, Writer};
pub(crate) use frame::{FRAME_HEADER, announced_length};
pub use frame::{FrameDecoder, FrameError, MAX_MESSAGE};
pub(crate) use macros::{flags, open_enum, structure};
pub use text::{FixedText, Secret, Text, TextError};
pub(crate) use types::decode_elements;
