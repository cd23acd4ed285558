//! Requests that are answered in several parts.

use crate::wire::{Malformed, Reader};

/// Descriptions of flows.
pub(crate) const FLOWS: u16 = 1;
/// Descriptions of groups.
pub(crate) const GROUPS: u16 = 7;
/// Descriptions of ports.
pub(crate) const PORTS: u16 = 13;
/// `OFPMPF_REPLY_MORE`.
const MORE: u16 = 1;

/// The content of a request.
pub(crate) fn request(kind: u16, filter: &[u8]) -> Vec<u8> {
    let (flags, padding) = ([0; 2], [0; 4]);
    [&kind.to_be_bytes()[..], &flags, &padding, filter].concat()
}

/// One part of a reply.
#[derive(Debug)]
pub struct Part<'body> {
    pub has_more: bool,
    pub content: Reader<'body>,
}

impl<'body> Part<'body> {
    /// Reads a part of a reply of this type.
    pub fn decode(body: &'body [u8], kind: u16) -> Result<Self, Malformed> {
        let mut content = Reader::new(body, "a multipart reply");
        let (found, flags, _padding) = (content.u16()?, content.u16()?, content.u32()?);
        if found != kind {
            return Err(Malformed::Value("the type of a multipart reply"));
        }
        Ok(Self { has_more: flags & MORE != 0, content })
    }
}
