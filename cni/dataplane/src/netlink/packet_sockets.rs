//! The packet sockets of the network namespace, by the kernel's list of sockets (sock_diag(7),
//! `linux/packet_diag.h`; Linux 3.7 or later, built with `CONFIG_PACKET_DIAG`).

use super::{Netlink, NetlinkError};
use netlink_packet_core::{
    DecodeError, NLM_F_DUMP, NetlinkDeserializable, NetlinkHeader, NetlinkPayload, NetlinkSerializable, NlasIterator,
};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use std::collections::BTreeSet;

/// `SOCK_DIAG_BY_FAMILY`
const BY_FAMILY: u16 = 20;
/// `AF_PACKET`
const FAMILY: u8 = 17;
/// `PACKET_SHOW_INFO`
const SHOW_INFO: u32 = 1;
/// `PACKET_DIAG_INFO`
const INFO: u16 = 0;
/// `PDI_VNETHDR`
const HAS_HEADERS: u32 = 1 << 3;
/// The length of `struct packet_diag_msg`, before the attributes.
const HEAD: usize = 16;
/// Where the index of the device and the flags are in `struct packet_diag_info`.
const INDEX: usize = 0;
const FLAGS: usize = 20;

/// The devices of the thread's network namespace that packet sockets are bound to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PacketSockets {
    /// The indexes of the devices.
    pub bound: BTreeSet<u32>,
    /// Those of them with a socket whose program gets, with each packet, what is left to do for it
    /// (`PACKET_VNET_HDR`): its checksum, and taking it apart.
    pub with_headers: BTreeSet<u32>,
}

impl PacketSockets {
    /// Lists them.
    ///
    /// # Errors
    /// The kernel has no list of packet sockets, or it changed while it was read.
    pub fn read() -> Result<Self, NetlinkError> {
        let found: Vec<Socket> = Netlink::open(NETLINK_SOCK_DIAG)?.request(Request, NLM_F_DUMP)?;
        Ok(Self {
            bound: found.iter().map(|socket| socket.device).collect(),
            with_headers: found.iter().filter(|socket| socket.has_headers).map(|socket| socket.device).collect(),
        })
    }
}

/// `struct packet_diag_req`
#[derive(Debug)]
struct Request;

impl NetlinkSerializable for Request {
    fn message_type(&self) -> u16 {
        BY_FAMILY
    }

    fn buffer_len(&self) -> usize {
        20
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer.fill(0);
        if let Some((family, rest)) = buffer.split_first_mut() {
            *family = FAMILY;
            // Protocol, padding and inode before it: all protocols.
            rest.iter_mut().skip(7).zip(SHOW_INFO.to_ne_bytes()).for_each(|(byte, value)| *byte = value);
        }
    }
}

impl From<Request> for NetlinkPayload<Request> {
    fn from(request: Request) -> Self {
        Self::InnerMessage(request)
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Socket {
    device: u32,
    has_headers: bool,
}

impl NetlinkDeserializable for Socket {
    type Error = DecodeError;

    fn deserialize(_: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        for attribute in NlasIterator::new(payload.get(HEAD..).unwrap_or_default()) {
            let attribute = attribute?;
            if attribute.kind() == INFO {
                let device = number(attribute.value(), INDEX)?;
                let has_headers = number(attribute.value(), FLAGS)? & HAS_HEADERS != 0;
                return Ok(Self { device, has_headers });
            }
        }
        Err(DecodeError::from("a packet socket without its device"))
    }
}

fn number(bytes: &[u8], at: usize) -> Result<u32, DecodeError> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map(|bytes| u32::from_ne_bytes(*bytes)).ok_or_else(|| DecodeError::from("a packet socket that is cut off"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_cut_off_is_an_error() {
        let header = NetlinkHeader::default();
        assert!(Socket::deserialize(&header, &[0; 16]).is_err());
        let cut = [vec![0; 16], vec![8, 0, 0, 0, 1, 0, 0, 0]].concat();
        assert!(Socket::deserialize(&header, &cut).is_err());
        let whole = [vec![0; 16], vec![28, 0, 0, 0], vec![3, 0, 0, 0], vec![0; 16], vec![8, 0, 0, 0]].concat();
        assert_eq!(Socket::deserialize(&header, &whole).unwrap(), Socket { device: 3, has_headers: true });
    }
}
