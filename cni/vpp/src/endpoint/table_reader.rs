//! Reads the first message of a connection, VPP's message table, in the pieces in which it arrives:
//! as a whole it would be half of the memory of a short-lived process.

use super::table::Table;
use crate::error::ProtocolError;
use crate::messages::{self, Message, MessageTableEntry, SOCKCLNT_CREATE_REPLY_ID, SockclntCreateReply};
use crate::wire::{Envelope, FRAME_HEADER, Field, Reader, announced_length, read_envelope};
use std::collections::{BTreeMap, BTreeSet};

/// The bytes before the entries: id, envelope, response, index of the client, number of entries.
const HEAD: usize = 20;

/// The part of the message that comes next. `left` is the rest of the message in bytes.
#[derive(Clone, Copy)]
enum Part {
    Frame,
    Head { left: usize },
    Entries { count: u16, left: usize },
    End { left: usize },
}

impl Part {
    const fn entries(count: u16, left: usize) -> Self {
        if count == 0 { Self::End { left } } else { Self::Entries { count, left } }
    }

    /// The bytes that it needs at once. A message that is too short is decoded as far as it goes,
    /// which is the error.
    fn needed(self) -> usize {
        match self {
            Self::Frame => FRAME_HEADER,
            Self::Head { left } => left.min(HEAD),
            Self::Entries { left, .. } => left.min(MessageTableEntry::MIN_SIZE),
            Self::End { .. } => 0,
        }
    }
}

pub(super) struct TableReader {
    /// The beginning of a part whose rest was not received yet.
    begun: Vec<u8>,
    part: Part,
    client_index: u32,
    /// The messages of this crate.
    used: BTreeSet<&'static str>,
    ids: BTreeMap<&'static str, u16>,
    /// What is behind the table, or why there is none, once that is known.
    end: Option<Result<Vec<u8>, ProtocolError>>,
}

impl TableReader {
    pub(super) fn new() -> Self {
        let used = messages::all().map(|message| message.name_crc).collect();
        Self { begun: Vec::new(), part: Part::Frame, client_index: 0, used, ids: BTreeMap::new(), end: None }
    }

    pub(super) fn receive(&mut self, bytes: &[u8]) {
        match &mut self.end {
            Some(Ok(rest)) => rest.extend_from_slice(bytes),
            Some(Err(_)) => {}
            None => self.end = self.decode_all(bytes).transpose(),
        }
    }

    /// The table and the bytes behind it, once it is complete.
    pub(super) fn read(&mut self) -> Result<Option<(Table, Vec<u8>)>, ProtocolError> {
        let Some(end) = self.end.take() else { return Ok(None) };
        Ok(Some((Table::new(self.client_index, std::mem::take(&mut self.ids)), end?)))
    }

    /// Decodes what was received. Returns what is behind the table, once it is complete.
    fn decode_all(&mut self, mut bytes: &[u8]) -> Result<Option<Vec<u8>>, ProtocolError> {
        loop {
            if let Part::End { left } = self.part {
                let skipped = left.min(bytes.len());
                self.part = Part::End { left: left - skipped };
                return Ok((skipped == left).then(|| bytes.get(skipped..).unwrap_or_default().to_vec()));
            }
            let missing = self.part.needed() - self.begun.len();
            let Some((taken, rest)) = bytes.split_at_checked(missing) else {
                self.begun.extend_from_slice(bytes);
                return Ok(None);
            };
            bytes = rest;
            self.part = if self.begun.is_empty() {
                self.decode(taken)?
            } else {
                let mut begun = std::mem::take(&mut self.begun);
                begun.extend_from_slice(taken);
                self.decode(&begun)?
            };
        }
    }

    /// Decodes a part. Returns the next one.
    fn decode(&mut self, bytes: &[u8]) -> Result<Part, ProtocolError> {
        let mut reader = Reader::new(bytes);
        match self.part {
            Part::Frame => match announced_length(&reader.array()?)? {
                // Empty messages are skipped, as by VPP.
                0 => Ok(Part::Frame),
                left => Ok(Part::Head { left }),
            },
            Part::Head { left } => {
                let (id, Envelope { context, .. }) = read_envelope(SockclntCreateReply::HEADER, &mut reader)?;
                if id != SOCKCLNT_CREATE_REPLY_ID {
                    return Err(ProtocolError::Unexpected { id, context });
                }
                let response: i32 = reader.field("response")?;
                self.client_index = reader.field("index")?;
                let count = reader.field("message_table")?;
                if response < 0 {
                    return Err(ProtocolError::ClientRefused { response });
                }
                Ok(Part::entries(count, left - bytes.len()))
            }
            Part::Entries { count, left } => {
                let MessageTableEntry { index, name } = reader.field("message_table")?;
                if let Some(name) = self.used.get(name.as_str()) {
                    self.ids.insert(*name, index);
                }
                Ok(Part::entries(count - 1, left - bytes.len()))
            }
            Part::End { left } => Ok(Part::End { left }),
        }
    }
}
