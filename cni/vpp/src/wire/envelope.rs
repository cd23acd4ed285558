//! The header of a message before its fields.

use super::field::{DecodeError, Field, Reader, Writer};

/// Which parts of an [`Envelope`] a message has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// The client's index and the context: all requests, and `sockclnt_create_reply`.
    ClientAndContext,
    /// Only the context: replies and details, and `sockclnt_create`.
    Context,
    /// Only the client's index: events.
    Client,
}

/// The client and the context of a request. What a message does not have is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Envelope {
    /// What VPP called the client in `sockclnt_create_reply`.
    pub client_index: u32,
    /// Any number; VPP copies it to the reply.
    pub context: u32,
}

/// The message's id: its number in the message table of this connection.
///
/// # Errors
/// The message is shorter than two bytes.
pub fn message_id(message: &[u8]) -> Result<u16, DecodeError> {
    Reader::new(message).field("_vl_msg_id")
}

/// Reads id and envelope; the rest of the reader are the fields.
///
/// # Errors
/// The message ends too early.
pub fn read_envelope(header: Header, reader: &mut Reader<'_>) -> Result<(u16, Envelope), DecodeError> {
    let id = reader.field("_vl_msg_id")?;
    let mut envelope = Envelope::default();
    if matches!(header, Header::ClientAndContext | Header::Client) {
        envelope.client_index = reader.field("client_index")?;
    }
    if matches!(header, Header::ClientAndContext | Header::Context) {
        envelope.context = reader.field("context")?;
    }
    Ok((id, envelope))
}

/// Appends a frame with a message whose fields are encoded already.
pub fn write_frame(out: &mut Vec<u8>, id: u16, header: Header, envelope: Envelope, fields: &[u8]) {
    let mut writer = Writer::append_to(std::mem::take(out));
    let length = match header {
        Header::ClientAndContext => 10,
        Header::Context | Header::Client => 6,
    } + fields.len();
    writer.zeros(8);
    writer.field(&u32::try_from(length).unwrap_or(u32::MAX));
    writer.zeros(4);
    writer.field(&id);
    if matches!(header, Header::ClientAndContext | Header::Client) {
        envelope.client_index.encode(&mut writer);
    }
    if matches!(header, Header::ClientAndContext | Header::Context) {
        envelope.context.encode(&mut writer);
    }
    writer.put(fields);
    *out = writer.into_bytes();
}
