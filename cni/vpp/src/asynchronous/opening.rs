//! The handshake of a connection: the message table, the identification of VPP, and the
//! subscription to interface events.

use super::{Connected, SocketFile};
use crate::batch::Ticket;
use crate::endpoint::{BatchId, Endpoint, Table};
use crate::messages::{ControlPing, ShowVersion, SwInterfaceEvent, WantInterfaceEvents};
use crate::{Answers, Batch, Error, ReplyError};
use std::path::Path;
use std::sync::Arc;

/// The progress of the handshake.
#[derive(Debug)]
pub(super) enum Opening {
    /// VPP has not yet sent its message table.
    Table,
    Requests(Requests),
    Done,
}

#[derive(Debug)]
pub(super) struct Requests {
    batch: BatchId,
    table: Arc<Table>,
    ping: Ticket<ControlPing>,
    version: Ticket<ShowVersion>,
    events: Ticket<WantInterfaceEvents>,
}

impl Opening {
    /// Handles the message table: requests the identity of VPP, and a subscription to interface
    /// events.
    pub(super) fn identify_and_subscribe(
        endpoint: &mut Endpoint,
        socket: &Path,
        table: Arc<Table>,
    ) -> Result<Self, Error> {
        table.require::<SwInterfaceEvent>().map_err(|unknown| unknown.into_error(socket.to_owned()))?;
        let mut batch = Batch::new();
        let ping = batch.request(ControlPing {});
        let version = batch.request(ShowVersion {});
        let events = batch.request(WantInterfaceEvents { enable_disable: 1, pid: std::process::id() });
        let batch = endpoint.submit(batch).map_err(|unknown| unknown.into_error(socket.to_owned()))?;
        Ok(Self::Requests(Requests { batch, table, ping, version, events }))
    }

    /// Returns the requests of the handshake if they are the batch that was answered.
    pub(super) fn take_requests(&mut self, answered: BatchId) -> Option<Requests> {
        match std::mem::replace(self, Self::Done) {
            Self::Requests(requests) if requests.batch == answered => Some(requests),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl Requests {
    /// Completes the description of VPP from the answers. Returns the message table.
    pub(super) fn complete(
        self,
        answers: &Answers,
        socket: &Path,
        connected: &mut Connected,
    ) -> Result<Arc<Table>, Error> {
        let refused = |source: ReplyError| Error::Refused { socket: socket.to_owned(), source };
        connected.instance.pid = answers.reply(self.ping).map_err(refused)?.vpe_pid;
        connected.version = answers.reply(self.version).map_err(refused)?.version.into_string();
        answers.reply(self.events).map_err(refused)?;
        // Otherwise a VPP that started while the socket connected would be mistaken for its
        // predecessor.
        if !SocketFile::at(socket).is_ok_and(|file| file == connected.instance.socket) {
            return Err(Error::Replaced { socket: socket.to_owned() });
        }
        Ok(self.table)
    }
}
