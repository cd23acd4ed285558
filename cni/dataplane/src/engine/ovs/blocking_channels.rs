//! The channels to a switch for programs without an async runtime (IO).

use super::channels::{NewGuardedPort, OvsChannels, flows_refused};
use super::guarded_flows;
use crate::engine::blocking::NeverWaits;
use crate::engine::error::OpError;
use std::future::{Future, ready};
use std::path::{Path, PathBuf};
use std::time::Duration;
use usnet_openflow::{PortNumber, socket};
use usnet_ovsdb::blocking::Client;

/// The database of a switch, and the management sockets of its bridges.
#[derive(Debug)]
pub struct BlockingChannels {
    database: Client,
    folder: PathBuf,
    timeout: Duration,
}

impl BlockingChannels {
    /// `socket` is that of the database, beside which those of the bridges are; `timeout` limits
    /// the requests to one bridge.
    pub fn new(database: Client, socket: &Path, timeout: Duration) -> Self {
        let folder = socket.parent().unwrap_or(Path::new("/")).to_owned();
        Self { database, folder, timeout }
    }
}

impl NeverWaits for BlockingChannels {}

impl OvsChannels for BlockingChannels {
    type Database = Client;

    fn database(&mut self) -> &mut Client {
        &mut self.database
    }

    fn stop_flooding(&mut self, bridge: &str, number: PortNumber) -> impl Future<Output = Result<(), OpError>> + Send {
        let stopped = guarded_flows::stop_flooding(&socket(&self.folder, bridge), self.timeout, number);
        ready(stopped.map_err(|error| flows_refused(bridge, error.to_string())))
    }

    fn open_guarded(&mut self, port: NewGuardedPort<'_>) -> impl Future<Output = Result<(), OpError>> + Send {
        let NewGuardedPort { bridge, number, source, has_policies } = port;
        let open = if has_policies { guarded_flows::close } else { guarded_flows::open };
        let opened = open(&socket(&self.folder, bridge), self.timeout, number, source);
        ready(opened.map_err(|error| flows_refused(bridge, error.to_string())))
    }
}
