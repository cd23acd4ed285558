//! Synchronous requests to the kernel over netlink, one at a time. The kernel handles a request
//! while it is sent, so that every answer is available at once.

mod ethtool;
mod packet_sockets;

pub use ethtool::{Ethtool, Features};
pub use packet_sockets::PacketSockets;

use netlink_packet_core::{
    DecodeError, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::Socket;
use nix::sys::socket::MsgFlags;
use std::{io, iter};

/// Bytes for one datagram of the kernel, which uses at most half of them for a dump. One that does
/// not fit would be truncated silently.
const DATAGRAM_MAX: usize = 1 << 16;

/// Why a netlink request failed.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
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
    pub fn request<Q, A>(&mut self, message: Q, flags: u16) -> Result<Vec<A>, NetlinkError>
    where
        Q: NetlinkSerializable,
        A: NetlinkDeserializable<Error = DecodeError>,
    {
        let flags = flags | if flags & NLM_F_DUMP == NLM_F_DUMP { 0 } else { NLM_F_ACK };
        let bytes = self.serialize(message, flags);
        self.socket.send(&bytes, 0).map_err(NetlinkError::Socket)?;
        let mut received = Received { answers: Vec::new(), is_last: false, is_interrupted: false };
        while !received.is_last {
            self.receive(&mut received)?;
        }
        // Only now: the kernel starts no other list before the end of this one was received.
        if received.is_interrupted { Err(NetlinkError::Interrupted) } else { Ok(received.answers) }
    }

    /// Sends messages, each with its flags, in one datagram: a batch that the kernel carries out
    /// completely or not at all. It acknowledges one of them, at least, which the caller marks by
    /// `NLM_F_ACK`.
    ///
    /// # Errors
    /// The kernel rejects one of them, and did nothing.
    pub fn transact<Q: NetlinkSerializable>(&mut self, messages: Vec<(Q, u16)>) -> Result<(), NetlinkError> {
        let first = self.sequence_number + 1;
        let bytes: Vec<u8> = messages.into_iter().flat_map(|(message, flags)| self.serialize(message, flags)).collect();
        self.socket.send(&bytes, 0).map_err(NetlinkError::Socket)?;
        // The first error is the cause of the others. All answers are read: the next request must
        // not find them.
        let (mut is_acknowledged, mut failure) = (false, None);
        while let Some(datagram) = self.datagram()? {
            for message in parsed::<Unread>(&datagram) {
                let message = message?;
                match message.payload {
                    _ if !(first..=self.sequence_number).contains(&message.header.sequence_number) => {}
                    NetlinkPayload::Error(error) if error.code.is_none() => is_acknowledged = true,
                    NetlinkPayload::Error(error) => drop(failure.get_or_insert_with(|| error.to_io())),
                    _ => {}
                }
            }
        }
        match failure {
            Some(failure) => Err(NetlinkError::Kernel(failure)),
            None if is_acknowledged => Ok(()),
            None => Err(NetlinkError::Socket(io::Error::other("the kernel did not acknowledge the batch"))),
        }
    }

    /// The bytes of the next message.
    fn serialize<Q: NetlinkSerializable>(&mut self, message: Q, flags: u16) -> Vec<u8> {
        self.sequence_number += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence_number;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }

    /// The next datagram, if there is one.
    fn datagram(&self) -> Result<Option<Vec<u8>>, NetlinkError> {
        let mut datagram = Vec::with_capacity(DATAGRAM_MAX);
        match self.socket.recv(&mut datagram, MsgFlags::MSG_DONTWAIT.bits()) {
            Ok(_) => Ok(Some(datagram)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(NetlinkError::Socket(error)),
        }
    }

    fn receive<A>(&self, received: &mut Received<A>) -> Result<(), NetlinkError>
    where
        A: NetlinkDeserializable<Error = DecodeError>,
    {
        let datagram = self.datagram()?.ok_or_else(|| NetlinkError::Socket(io::ErrorKind::WouldBlock.into()))?;
        for message in parsed::<A>(&datagram) {
            let message = message?;
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

/// The messages of a datagram.
fn parsed<A>(datagram: &[u8]) -> impl Iterator<Item = Result<NetlinkMessage<A>, NetlinkError>>
where
    A: NetlinkDeserializable<Error = DecodeError>,
{
    let mut rest = datagram;
    iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let message = NetlinkMessage::<A>::deserialize(rest).map_err(NetlinkError::Undecodable);
        // Messages are aligned to four bytes; the header's length was validated by the parser.
        let length = message.as_ref().map_or(usize::MAX, |message| {
            usize::try_from(message.header.length).unwrap_or(usize::MAX - 3).next_multiple_of(4).max(4)
        });
        rest = rest.get(length..).unwrap_or_default();
        Some(message)
    })
}

/// The content of a message that is not read.
#[derive(Debug)]
struct Unread;

impl NetlinkDeserializable for Unread {
    type Error = DecodeError;

    fn deserialize(_: &NetlinkHeader, _: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}
