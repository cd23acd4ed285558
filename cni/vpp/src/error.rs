//! Errors of requests to VPP.

use crate::wire::{DecodeError, FrameError};
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use usnet_transport::TransferError;

/// The error of a request to VPP.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection was refused, or VPP's backlog was full until the deadline.
    #[error(
        "cannot connect to VPP at {path}; is VPP running, and does its startup.conf have a section socksvr with this socket?",
        path = socket.display()
    )]
    Connect {
        socket: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The session was just started.
    #[error("not yet connected to VPP at {path}", path = socket.display())]
    NotYetConnected { socket: PathBuf },
    #[error("lost the connection to VPP at {path}", path = socket.display())]
    Io {
        socket: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("VPP at {path} closed the connection; it exited or was restarted", path = socket.display())]
    Closed { socket: PathBuf },
    /// The requests may have been executed nevertheless.
    #[error("no answer to {request} from VPP at {path} within {limit:?}; does it hang?", path = socket.display())]
    Timeout {
        socket: PathBuf,
        /// The first request without an answer.
        request: &'static str,
        /// The time of the whole batch.
        limit: Duration,
    },
    /// The peer does not speak VPP's binary API.
    #[error("cannot decode the data received from {path}", path = socket.display())]
    Protocol {
        socket: PathBuf,
        #[source]
        source: ProtocolError,
    },
    /// Nothing was sent.
    #[error("VPP at {path} does not know the message {message}; {remedy}", path = socket.display())]
    Unsupported {
        socket: PathBuf,
        message: &'static str,
        /// The plugin that the message belongs to, if any.
        plugin: Option<&'static str>,
        remedy: Remedy,
    },
    /// VPP refused a request of the handshake.
    #[error("VPP at {path} refused a request that is needed to start a session", path = socket.display())]
    Refused {
        socket: PathBuf,
        /// The request, and VPP's return code.
        #[source]
        source: crate::ReplyError,
    },
    /// Another VPP created the socket again while the session connected.
    #[error("VPP at {path} was replaced by another VPP while a connection was opened", path = socket.display())]
    Replaced { socket: PathBuf },
    #[error("nothing was sent: there is no connection to VPP at {path}", path = socket.display())]
    NotSent {
        socket: PathBuf,
        /// The reason why there is no connection.
        #[source]
        source: Arc<Error>,
    },
    /// Each request may have been executed or not.
    #[error("the connection to VPP at {path} was lost before all answers were received", path = socket.display())]
    AnswerLost {
        socket: PathBuf,
        /// The reason why the connection was lost.
        #[source]
        source: Arc<Error>,
    },
    /// The session was dropped while its handle is used.
    #[error("the session with VPP at {path} has ended", path = socket.display())]
    SessionEnded { socket: PathBuf },
}

impl Error {
    /// The connection failed while `request` had no answer.
    pub(crate) fn transfer(socket: &Path, request: &'static str, error: TransferError) -> Self {
        let socket = socket.to_owned();
        match error {
            TransferError::Timeout { limit } => Self::Timeout { socket, request, limit },
            TransferError::Closed => Self::Closed { socket },
            TransferError::Io(source) => Self::Io { socket, source },
        }
    }
}

/// The received bytes are not those of VPP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The stream does not consist of messages.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A message that the connection itself needs is too short.
    #[error("cannot decode a message")]
    Decode(#[from] DecodeError),
    /// VPP did not register this client.
    #[error("VPP refused to register the client: response {response}")]
    ClientRefused {
        /// The negative number in `sockclnt_create_reply`.
        response: i32,
    },
    /// The message does not answer a request.
    #[error("message {id} with context {context} does not answer any request")]
    Unexpected {
        id: u16,
        /// The context should be that of a request.
        context: u32,
    },
}

/// The action of an operator that makes VPP support a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// VPP knows no message of the plugin.
    LoadPlugin(&'static str),
    /// VPP lacks the message, or it has another layout, although VPP has its plugin.
    UseRelease,
}

impl Display for Remedy {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoadPlugin(plugin) => write!(formatter, "load the plugin {plugin} in its startup.conf"),
            Self::UseRelease => formatter.write_str("use VPP 26.06"),
        }
    }
}
