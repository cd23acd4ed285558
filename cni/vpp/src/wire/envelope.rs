//! The header of a message.

use super::field::{DecodeError, Field, Reader, Writer};

/// The parts of an [`Envelope`] that a message has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// The client's index and the context: all requests, and `sockclnt_create_reply`.
    ClientAndContext,
    /// Only the context: replies and details, and `sockclnt_create`.
    Context,
    /// Only the client's index: events.
    Client,
}

/// The client and the context of a request. Missing parts are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Envelope {
    /// The index from `sockclnt_create_reply`.
    pub client_index: u32,
    /// A number that VPP copies to the reply.
    pub context: u32,
}

/// Returns the message's id, which is that of the message table of this connection.
pub fn message_id(message: &[u8]) -> Result<u16, DecodeError> {
    Reader::new(message).field("_vl_msg_id")
}

/// Reads id and envelope. The rest of the reader are the fields.
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
