//! Synchronous requests to the kernel over netlink, one at a time. The kernel handles a request
//! while it is sent, so that every answer is available at once.

use netlink_packet_core::{
    DecodeError, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage,
    NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::Socket;
use nix::sys::socket::MsgFlags;
use std::io;

/// Bytes for one datagram of the kernel, which uses at most half of them for a dump. One that does
/// not fit would be truncated silently.
const DATAGRAM_MAX: usize = 1 << 16;

/// Why a netlink request failed.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// The netlink socket failed.
    #[error("the netlink socket failed")]
    Socket(#[source] io::Error),
    /// The kernel's error.
    #[error("the kernel rejected the request")]
    Kernel(#[source] io::Error),
    /// A message that this release cannot read.
    #[error("this release of usnet cannot read the kernel's netlink reply")]
    Undecodable(#[source] DecodeError),
}

impl NetlinkError {
    /// Whether the kernel returned this error.
    pub(super) fn is(&self, errno: nix::errno::Errno) -> bool {
        matches!(self, Self::Kernel(error) if error.raw_os_error() == Some(errno as i32))
    }
}

/// A socket of one protocol family, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: Socket,
    sequence_number: u32,
}

impl Netlink {
    pub(super) fn open(protocol: isize) -> Result<Self, NetlinkError> {
        let socket = Socket::new(protocol).map_err(NetlinkError::Socket)?;
        Ok(Self { socket, sequence_number: 0 })
    }

    /// Sends one request, and returns the kernel's answers without the acknowledgement.
    pub(super) fn request<Q, A>(&mut self, message: Q, flags: u16) -> Result<Vec<A>, NetlinkError>
    where
        Q: NetlinkSerializable,
        A: NetlinkDeserializable<Error = DecodeError>,
    {
        self.sequence_number += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags | if flags & NLM_F_DUMP == NLM_F_DUMP { 0 } else { NLM_F_ACK };
        header.sequence_number = self.sequence_number;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map_err(NetlinkError::Socket)?;
        let mut answers = Vec::new();
        while !self.receive(&mut answers)? {}
        Ok(answers)
    }

    /// Receives one datagram, and returns whether it was the last.
    fn receive<A>(&self, answers: &mut Vec<A>) -> Result<bool, NetlinkError>
    where
        A: NetlinkDeserializable<Error = DecodeError>,
    {
        let mut datagram = Vec::with_capacity(DATAGRAM_MAX);
        self.socket.recv(&mut datagram, MsgFlags::MSG_DONTWAIT.bits()).map_err(NetlinkError::Socket)?;
        let mut rest = datagram.as_slice();
        while !rest.is_empty() {
            let message = NetlinkMessage::<A>::deserialize(rest).map_err(NetlinkError::Undecodable)?;
            // Messages are aligned to four bytes; the header's length was validated by the parser.
            let length = usize::try_from(message.header.length).unwrap_or(usize::MAX).next_multiple_of(4).max(4);
            rest = rest.get(length..).unwrap_or_default();
            if message.header.sequence_number != self.sequence_number {
                continue;
            }
            match message.payload {
                NetlinkPayload::InnerMessage(answer) => answers.push(answer),
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(error) if error.code.is_none() => return Ok(true),
                NetlinkPayload::Error(error) => return Err(NetlinkError::Kernel(error.to_io())),
                _ => {}
            }
        }
        Ok(false)
    }
}
