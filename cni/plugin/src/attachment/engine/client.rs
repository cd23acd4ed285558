//! A synchronous client of the engine of an attachment, for one operation.

use super::drivers;
use super::error::EngineClientError;
use std::fmt;
use std::path::Path;
use std::time::Duration;
use usnet_crds::EngineKind;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::engine::{BlockingDriver, OpError};
use usnet_dataplane::legacy_port::{LegacyPort, LegacyPortLocation};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::owner::PortOwner;
use usnet_dataplane::plan::Op;

/// How long an engine that acts later than it replies (Open vSwitch) may take to create a port.
/// kubelet waits for ADD, so that a longer time delays the error of every pod on a node with a
/// hanging switch: together with the rollback ADD returns within 5 s. A shorter one fails on a busy
/// node, where a port takes a second or two.
const CREATE_TIMEOUT: Duration = Duration::from_secs(3);
/// The same, to remove a port. It is short because an expiry costs little: a removal that is
/// committed to the database is applied by ovs-vswitchd later, and the agent verifies it.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection to an engine, for one operation.
pub struct EngineClient {
    driver: Box<dyn BlockingDriver>,
}

impl fmt::Debug for EngineClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EngineClient").finish_non_exhaustive()
    }
}

impl EngineClient {
    /// Connects to the engine of an attachment.
    ///
    /// # Errors
    /// When the engine does not answer. Nothing was sent to it then.
    pub fn connect(record: &Record) -> Result<Self, EngineClientError> {
        Self::connect_to(record.engine, &record.engine_socket, record.memif_socket_ids)
    }

    /// Connects to an engine at this socket.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn connect_to(
        engine: EngineKind,
        socket: &Path,
        memif_socket_ids: MemifSocketIds,
    ) -> Result<Self, EngineClientError> {
        Ok(Self { driver: drivers::connect(engine, socket, memif_socket_ids)? })
    }

    /// The objects of the engine that usnet owns.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn observe(mut self) -> Result<Observed, EngineClientError> {
        Ok(self.driver.observe()?)
    }

    /// Creates the port of an attachment, and returns when the engine has applied it.
    ///
    /// # Errors
    /// When it is not certain that the port works.
    pub fn create_port(self, record: &Record) -> Result<(), EngineClientError> {
        let (network, attachment, port) = (record.network.clone(), record.id.clone(), record.port.clone());
        self.apply(Op::CreatePort { network, attachment, port }, CREATE_TIMEOUT)
    }

    /// Removes the port of an attachment, if it exists.
    ///
    /// # Errors
    /// When it is not certain that the port is removed.
    pub fn remove_port(self, record: &Record) -> Result<(), EngineClientError> {
        let operation = Op::RemovePort {
            bridge: Some(record.port.bridge.to_string()),
            port: record.port.name.clone(),
            owner: PortOwner::new(&record.network, &record.id),
            backend: Some(record.port.backend.clone()),
        };
        match self.apply(operation, REMOVE_TIMEOUT) {
            // In Open vSwitch a port does not exist without its bridge, and one without the
            // attachment's tag is not its port.
            Err(EngineClientError::Operation(
                OpError::BridgeMissing { .. } | OpError::PortMissing { .. } | OpError::Foreign { .. },
            )) => Ok(()),
            other => other,
        }
    }

    /// Removes a port that the legacy plugin created, if it exists. The bridge is kept.
    ///
    /// # Errors
    /// When it is not certain that the port is removed.
    pub fn remove_legacy_port(mut self, place: LegacyPortLocation<'_>) -> Result<LegacyPort, EngineClientError> {
        Ok(self.driver.remove_legacy_port(place)?)
    }

    fn apply(mut self, operation: Op, timeout: Duration) -> Result<(), EngineClientError> {
        self.driver.set_apply_timeout(timeout);
        let results = self.driver.apply(&[operation])?;
        Ok(results.into_iter().next().ok_or(EngineClientError::NoResult)??)
    }
}
