//! Synchronous requests to the kernel over netlink, one at a time. The kernel handles a request
//! while it is sent, so that every answer is available at once.

use netlink_packet_core::{
    DecodeError, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable,
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
    /// What was listed changed meanwhile.
    #[error("the kernel's list changed while it was read")]
    Interrupted,
}

impl NetlinkError {
    /// Whether the kernel returned this error.
    pub fn is(&self, errno: nix::errno::Errno) -> bool {
        matches!(self, Self::Kernel(error) if error.raw_os_error() == Some(errno as i32))
    }
}

/// The answers to one request so far.
struct Received<A> {
    answers: Vec<A>,
    is_last: bool,
    /// Whether what is listed changed meanwhile.
    is_interrupted: bool,
}

/// A socket of one protocol family, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    sequence_number: u32,
}

impl Netlink {
    /// Opens a socket of a protocol family.
    ///
    /// # Errors
    /// The kernel has none left, or does not know the family.
    pub fn open(protocol: isize) -> Result<Self, NetlinkError> {
        let socket = Socket::new(protocol).map_err(NetlinkError::Socket)?;
        Ok(Self { socket, sequence_number: 0 })
    }

    /// Sends one request, and returns the kernel's answers without the acknowledgement.
    ///
    /// # Errors
    /// The kernel rejects it.
    pub fn request<Q, A>(&mut self, message: Q, flags: u16) -> Result<Vec<A>, NetlinkError>
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
        let mut received = Received { answers: Vec::new(), is_last: false, is_interrupted: false };
        while !received.is_last {
            self.receive(&mut received)?;
        }
        // Only now: the kernel starts no other list before the end of this one was received.
        if received.is_interrupted { Err(NetlinkError::Interrupted) } else { Ok(received.answers) }
    }

    /// Receives one datagram.
    fn receive<A>(&self, received: &mut Received<A>) -> Result<(), NetlinkError>
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
            received.is_interrupted |= message.header.flags & NLM_F_DUMP_INTR != 0;
            match message.payload {
                NetlinkPayload::InnerMessage(answer) => received.answers.push(answer),
                NetlinkPayload::Done(_) => received.is_last = true,
                NetlinkPayload::Error(error) if error.code.is_none() => received.is_last = true,
                NetlinkPayload::Error(error) => return Err(NetlinkError::Kernel(error.to_io())),
                _ => {}
            }
        }
        Ok(())
    }
}
