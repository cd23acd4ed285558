//! Errors of requests to VPP.

use crate::wire::{DecodeError, FrameError};
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use usnet_transport::TransferError;

/// Why a request to VPP failed. [`Error::nothing_done`] tells whether it is safe to send it again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection was refused, or VPP's backlog was full until the deadline.
    #[error(
        "cannot connect to VPP at {path}; is VPP running, and does its startup.conf have a section socksvr with this socket?",
        path = socket.display()
    )]
    Connect {
        /// VPP's socket.
        socket: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// A session that was just started.
    #[error("not yet connected to VPP at {path}", path = socket.display())]
    NotYetConnected {
        /// VPP's socket.
        socket: PathBuf,
    },
    /// Reading or writing failed.
    #[error("lost the connection to VPP at {path}", path = socket.display())]
    Io {
        /// VPP's socket.
        socket: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// VPP closed the connection: it exited.
    #[error("VPP at {path} closed the connection; it exited or was restarted", path = socket.display())]
    Closed {
        /// VPP's socket.
        socket: PathBuf,
    },
    /// No answer in time. The requests may have been executed nevertheless.
    #[error("no answer to {request} from VPP at {path} within {limit:?}; does it hang?", path = socket.display())]
    Timeout {
        /// VPP's socket.
        socket: PathBuf,
        /// The first request without an answer.
        request: &'static str,
        /// The time that all requests of the batch had.
        limit: Duration,
    },
    /// The peer does not speak VPP's binary API.
    #[error("cannot decode the data received from {path}", path = socket.display())]
    Protocol {
        /// VPP's socket.
        socket: PathBuf,
        /// What is wrong.
        #[source]
        source: ProtocolError,
    },
    /// VPP lacks a message. Nothing was sent.
    #[error("VPP at {path} does not know the message {message}; {remedy}", path = socket.display())]
    Unsupported {
        /// VPP's socket.
        socket: PathBuf,
        /// The message's name.
        message: &'static str,
        /// The plugin that the message belongs to, if it belongs to one.
        plugin: Option<&'static str>,
        /// What an operator can do.
        remedy: Remedy,
    },
    /// VPP refused a request that every session needs.
    #[error("VPP at {path} refused a request that is needed to start a session", path = socket.display())]
    Refused {
        /// VPP's socket.
        socket: PathBuf,
        /// The request, and VPP's return code.
        #[source]
        source: crate::ReplyError,
    },
    /// Another VPP created the socket again while the session connected.
    #[error("VPP at {path} was replaced by another VPP while a connection was opened", path = socket.display())]
    Replaced {
        /// VPP's socket.
        socket: PathBuf,
    },
    /// The session is not connected; nothing was sent.
    #[error("nothing was sent: there is no connection to VPP at {path}", path = socket.display())]
    NotSent {
        /// VPP's socket.
        socket: PathBuf,
        /// Why there is no connection.
        #[source]
        source: Arc<Error>,
    },
    /// The session lost the connection before all answers. Each request may have been executed or
    /// not.
    #[error("the connection to VPP at {path} was lost before all answers were received", path = socket.display())]
    AnswerLost {
        /// VPP's socket.
        socket: PathBuf,
        /// Why the connection was lost.
        #[source]
        source: Arc<Error>,
    },
    /// The session was dropped while its handle is used.
    #[error("the session with VPP at {path} has ended", path = socket.display())]
    SessionEnded {
        /// VPP's socket.
        socket: PathBuf,
    },
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

    /// Whether it is certain that nothing was changed. Otherwise read before retrying.
    #[must_use]
    pub const fn nothing_done(&self) -> bool {
        matches!(
            self,
            Self::Connect { .. } | Self::NotYetConnected { .. } | Self::NotSent { .. } | Self::Unsupported { .. }
        )
    }
}

/// The received bytes are not what VPP sends.
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
    /// An answer to no request.
    #[error("message {id} with context {context} does not answer any request")]
    Unexpected {
        /// The message's id.
        id: u16,
        /// Its context, which should be that of a request.
        context: u32,
    },
}

/// What an operator can do so that VPP supports a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// No message of the plugin is known.
    LoadPlugin(&'static str),
    /// The message is missing, or has another layout, though its plugin is there.
    UseRelease,
}

impl Display for Remedy {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoadPlugin(plugin) => write!(formatter, "load the plugin {plugin} in its startup.conf"),
            Self::UseRelease => formatter.write_str("use a VPP release from 23.06 to 26.06"),
        }
    }
}
