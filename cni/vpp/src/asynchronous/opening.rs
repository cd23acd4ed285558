//! The first messages of a connection: the message table, the identification of VPP, and the
//! subscription to interface events.

use super::connection::Connection;
use super::{Instance, Options, SocketFile};
use crate::endpoint::{BatchId, Endpoint, Event, Table};
use crate::messages::{ControlPing, ShowVersion, SwInterfaceEvent, WantInterfaceEvents};
use crate::{Answers, Batch, Error, ReplyError};
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};
use usnet_transport::TransferError;
use usnet_transport::asynchronous::Socket;

impl<'session> Connection<'session> {
    /// Connects, reads the table, and subscribes.
    pub(super) async fn open(options: &'session Options) -> Result<Self, Error> {
        let connect_error = |source| Error::Connect { socket: options.socket.clone(), source };
        // Read before connecting and compared afterwards: otherwise a VPP that starts in between
        // would be mistaken for the previous one.
        let socket_file = SocketFile::at(&options.socket).map_err(connect_error)?;
        let deadline = Instant::now() + options.timeout;
        let socket = Socket::connect(&options.socket, options.timeout).await.map_err(connect_error)?;
        let mut connection = Self {
            options,
            socket,
            endpoint: Endpoint::new(),
            table: Arc::default(),
            version: String::new(),
            instance: Instance { pid: 0, socket: socket_file },
            changes: 0,
            last_received: Instant::now(),
            is_usable: false,
        };
        connection.table = connection.read_table(deadline).await?;
        connection.is_usable = true;
        connection.identify_and_subscribe(deadline).await?;
        match SocketFile::at(&options.socket) {
            Ok(still) if still == socket_file => Ok(connection),
            _ => Err(Error::Replaced { socket: options.socket.clone() }),
        }
    }

    async fn read_table(&mut self, deadline: Instant) -> Result<Arc<Table>, Error> {
        loop {
            if let Event::Ready(table) = self.wait_for_event(deadline).await? {
                return Ok(table);
            }
        }
    }

    /// Identifies VPP, and subscribes to interface events.
    async fn identify_and_subscribe(&mut self, deadline: Instant) -> Result<(), Error> {
        self.table.require::<SwInterfaceEvent>().map_err(|unknown| unknown.into_error(self.path()))?;
        let mut batch = Batch::new();
        let ping = batch.request(ControlPing {});
        let version = batch.request(ShowVersion {});
        let events = batch.request(WantInterfaceEvents { enable_disable: 1, pid: std::process::id() });
        let submitted = self.endpoint.submit(batch).map_err(|unknown| unknown.into_error(self.path()))?;
        let answers = self.wait_for_answers(submitted, deadline).await;
        self.is_usable = answers.is_ok();
        let answers = answers?;
        let refused = |source: ReplyError| Error::Refused { socket: self.options.socket.clone(), source };
        self.instance.pid = answers.reply(ping).map_err(refused)?.vpe_pid;
        self.version = answers.reply(version).map_err(refused)?.version.into_string();
        answers.reply(events).map_err(refused)?;
        Ok(())
    }

    async fn wait_for_answers(&mut self, submitted: BatchId, deadline: Instant) -> Result<Answers, Error> {
        loop {
            match self.wait_for_event(deadline).await? {
                Event::Answered { batch, answers } if batch == submitted => return Ok(answers),
                Event::InterfaceChanged => self.changes += 1,
                Event::Answered { .. } | Event::Ready(_) => {}
            }
        }
    }

    async fn wait_for_event(&mut self, deadline: Instant) -> Result<Event, Error> {
        loop {
            if let Some(event) = self.next_event()? {
                return Ok(event);
            }
            let timeout = TransferError::Timeout { limit: self.options.timeout };
            let transferring = timeout_at(deadline, self.socket.transfer(&mut self.endpoint));
            transferring.await.unwrap_or(Err(timeout)).map_err(|error| self.error(error))?;
        }
    }
}
