//! The column `statistics` of interfaces, read on demand.
//!
//! It is not part of the other types and never monitored: the switch writes it every five seconds
//! for each interface. It is also large, 2.8 kB for an interface of DPDK, of which few numbers are
//! needed. Each reading has a connection of its own, and the answer is parsed straight into
//! [`InterfaceStatistics`], without generic values in between.

mod answer;
mod interface;
#[cfg(test)]
mod tests;

pub use interface::InterfaceStatistics;

use crate::transact::{self, METHOD};
use crate::wire::{Decoder, WireError};
use crate::{Error, Transaction};
use answer::Answer;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;
use usnet_transport::blocking::{Deadline, Socket};
use usnet_transport::{Outgoing, Protocol};

const TABLE: &str = "Interface";
const READ_SIZE: usize = 16 << 10;

/// Reads the interfaces of the database at `socket`, with the requested keys.
pub fn read(socket: &Path, timeout: Duration, is_wanted: fn(&str) -> bool) -> Result<Vec<InterfaceStatistics>, Error> {
    let deadline = Deadline::after(timeout);
    let mut transaction = Transaction::new();
    let _only = transaction.select(TABLE, Vec::new(), &["name", "type", "status", "statistics"]);
    let refused = |source| Error::Connect { socket: socket.to_owned(), source };
    let wire = |source| Error::Wire { socket: socket.to_owned(), source };
    let mut connection = Socket::connect(socket, READ_SIZE, &deadline).map_err(refused)?;
    let mut exchange = Exchange::request(&transaction).map_err(wire)?;
    loop {
        if let Some(message) = exchange.decoder.next_bytes().map_err(wire)? {
            return match answer::parse(message, is_wanted).map_err(wire)? {
                Answer::Interfaces(interfaces) => Ok(interfaces),
                // Its errors are those of all other requests.
                Answer::Other(answer) => match transact::read_answer(socket, &transaction, answer) {
                    Err(error) => Err(error),
                    Ok(_) => Err(wire(WireError::NotJsonRpc("rows of another form".to_owned()))),
                },
                // A server probes silent clients. This one is not silent for long, so that it need
                // not answer.
                Answer::Request => continue,
            };
        }
        let transferred = connection.transfer(&mut exchange, &deadline);
        transferred.map_err(|error| Error::transfer(socket, METHOD, error))?;
    }
}

/// A request and its answer.
struct Exchange {
    outgoing: Outgoing,
    decoder: Decoder,
}

impl Exchange {
    fn request(transaction: &Transaction) -> Result<Self, WireError> {
        #[derive(Serialize)]
        struct Request<'request> {
            id: u64,
            method: &'request str,
            params: &'request Transaction,
        }
        let mut outgoing = Outgoing::default();
        let request = Request { id: 0, method: METHOD, params: transaction };
        serde_json::to_writer(outgoing.end(), &request).map_err(WireError::Json)?;
        Ok(Self { outgoing, decoder: Decoder::default() })
    }
}

impl Protocol for Exchange {
    fn outgoing(&self) -> &[u8] {
        self.outgoing.unsent()
    }

    fn sent(&mut self, bytes: usize) {
        self.outgoing.sent(bytes);
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
    }
}
