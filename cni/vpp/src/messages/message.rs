//! Messages: their names, layouts and answers.

use crate::wire::{DecodeError, Envelope, Header, Reader, Writer, write_frame};

/// A message of VPP's binary API.
pub trait Message: Sized {
    /// VPP's name of the message.
    const NAME: &'static str;
    /// The CRC of the layout, 8 hexadecimal digits.
    const CRC: &'static str;
    /// Name and CRC as in VPP's message table.
    const NAME_CRC: &'static str;
    /// The plugin that has to be loaded; `None` if every VPP has the message.
    const PLUGIN: Option<&'static str>;
    const HEADER: Header;

    fn encode(&self, writer: &mut Writer);

    /// Decodes the fields. Bytes after the last field are ignored, as by VPP.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;

    /// Returns name and CRC as in VPP's message table.
    #[must_use]
    fn name_crc() -> &'static str {
        Self::NAME_CRC
    }
}

/// A message that is answered by one reply.
pub trait Request: Message {
    type Reply: Reply;
}

pub trait Reply: Message {
    /// The place of the code among the bytes of the fields.
    const RETVAL_AT: usize = 0;

    /// Returns 0, or the code of a refusal.
    fn retval(&self) -> i32;
}

/// A message that is answered by any number of details.
pub trait Dump: Message {
    type Details: Message;
}

/// A message that is answered by any number of details and then by one reply.
pub trait Get: Message {
    type Details: Message;
    type Reply: Reply;
}

/// A message without its type, for tables of messages.
#[derive(Debug, Clone, Copy)]
pub struct Descriptor {
    /// VPP's name of the message.
    pub name: &'static str,
    /// Name and CRC as in VPP's message table.
    pub name_crc: &'static str,
    /// The plugin that has to be loaded; `None` if every VPP has the message.
    pub plugin: Option<&'static str>,
    pub header: Header,
    /// Decodes fields and encodes them again: for tests of the whole table, and to check messages
    /// of a peer.
    pub recode: fn(&[u8]) -> Result<Vec<u8>, DecodeError>,
}

impl Descriptor {
    #[must_use]
    pub const fn of<M: Message>() -> Self {
        Self { name: M::NAME, name_crc: M::NAME_CRC, plugin: M::PLUGIN, header: M::HEADER, recode: recode::<M> }
    }
}

impl PartialEq for Descriptor {
    fn eq(&self, other: &Self) -> bool {
        self.name_crc == other.name_crc
    }
}

impl Eq for Descriptor {}

fn recode<M: Message>(fields: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut writer = Writer::default();
    M::decode(&mut Reader::new(fields))?.encode(&mut writer);
    Ok(writer.into_bytes())
}

/// Appends a frame with a message.
pub fn write_message<M: Message>(out: &mut Vec<u8>, id: u16, envelope: Envelope, message: &M) {
    let mut fields = Writer::default();
    message.encode(&mut fields);
    write_frame(out, id, M::HEADER, envelope, &fields.into_bytes());
}
