//! The socket of memif: each message is a packet, with file descriptors as ancillary data.

use super::protocol::{Answer, MESSAGE_SIZE, Request};
use super::{Socket, Target};
use crate::Error;
use nix::sys::socket::{
    AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, UnixAddr, connect, recv, sendmsg, setsockopt, socket,
    sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io::IoSlice;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Seconds for an answer: longer than an engine takes that creates an interface at the same time.
const ANSWER_WITHIN: i64 = 5;

pub(super) struct Connection {
    descriptor: OwnedFd,
}

impl Connection {
    pub(super) fn open(target: &Target) -> Result<Self, Error> {
        let failed = |error: nix::Error| Error::Socket {
            action: "connect to",
            path: target.socket.to_string().into(),
            source: error.into(),
        };
        let address = match &target.socket {
            Socket::File(path) => UnixAddr::new(path),
            Socket::Abstract(name) => UnixAddr::new_abstract(name.as_bytes()),
        };
        let address = address.map_err(failed)?;
        let descriptor =
            socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).map_err(failed)?;
        let limit = TimeVal::seconds(ANSWER_WITHIN);
        setsockopt(&descriptor, sockopt::ReceiveTimeout, &limit).map_err(failed)?;
        setsockopt(&descriptor, sockopt::SendTimeout, &limit).map_err(failed)?;
        connect(descriptor.as_raw_fd(), &address).map_err(failed)?;
        Ok(Self { descriptor })
    }

    /// Sends a request and reads the answer.
    pub(super) fn call(&self, request: &Request<'_>, descriptor: Option<RawFd>) -> Result<Answer, Error> {
        let message = request.encode();
        let descriptors: Vec<RawFd> = descriptor.into_iter().collect();
        let rights = [ControlMessage::ScmRights(&descriptors)];
        let rights = if descriptors.is_empty() { &[][..] } else { &rights[..] };
        sendmsg::<()>(self.descriptor.as_raw_fd(), &[IoSlice::new(&message)], rights, MsgFlags::MSG_NOSIGNAL, None)
            .map_err(|error| negotiation("a message", error))?;
        self.read()
    }

    pub(super) fn read(&self) -> Result<Answer, Error> {
        let mut message = [0; MESSAGE_SIZE];
        let length = recv(self.descriptor.as_raw_fd(), &mut message, MsgFlags::empty())
            .map_err(|error| negotiation("to answer", error))?;
        match message.get(..length) {
            Some([]) | None => Err(Error::Disconnected),
            Some(message) => Answer::decode(message),
        }
    }
}

impl AsRawFd for Connection {
    fn as_raw_fd(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}

fn negotiation(message: &'static str, error: nix::Error) -> Error {
    Error::Negotiation { message, source: Box::new(std::io::Error::from(error)) }
}
