//! A synchronous client of the engine of an attachment, for one operation.

use crate::protocol::error::ErrorCode;
use std::fmt;
use std::path::Path;
use std::time::Duration;
use usnet_crds::EngineKind;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::engine::{BlockingDriver, EngineError, OpError};
use usnet_dataplane::legacy_port::{LegacyPort, LegacyPortLocation};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::ovs::OpenVswitch;
use usnet_dataplane::owner::PortOwner;
use usnet_dataplane::plan::Op;
use usnet_dataplane::vpp::Vpp;
use usnet_ovsdb::blocking::Client as OvsdbClient;
use usnet_vpp::blocking::Client as VppClient;

/// The timeout of one OVSDB transaction.
const OVSDB_TIMEOUT: Duration = Duration::from_secs(1);
/// The timeouts for Open vSwitch to create and to remove a port. Together with the rollback of a
/// failure ADD returns within 5 s; a removal that is committed to the database is applied by
/// ovs-vswitchd later, and the agent verifies it.
const CREATE_TIMEOUT: Duration = Duration::from_secs(3);
const REMOVE_TIMEOUT: Duration = Duration::from_secs(1);
/// The timeout of a batch of VPP API messages: a busy node where many pods start or stop at the
/// same time needs a second or two. A hanging VPP is reported within 5 s. If it hangs in the middle
/// of an ADD the timeout applies twice: to the port and to its rollback.
const VPP_TIMEOUT: Duration = Duration::from_secs(4);

/// Why an operation of the engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineClientError {
    /// The engine is not usable; the outcome is unknown.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine rejected the operation.
    #[error(transparent)]
    Operation(#[from] OpError),
    /// The driver returned fewer results than operations: a defect of usnet.
    #[error("the driver of the engine returned no result; this is a defect of usnet, please report it")]
    NoResult,
}

impl EngineClientError {
    /// The CNI code.
    pub fn code(&self) -> ErrorCode {
        let Self::Operation(error) = self else { return ErrorCode::TryAgainLater };
        match error {
            // The agent recreates the bridge, and removes orphaned ports.
            OpError::BridgeMissing { .. }
            | OpError::PortMissing { .. }
            | OpError::PortDiffers { .. }
            | OpError::SocketInUse { .. } => ErrorCode::TryAgainLater,
            OpError::Foreign { .. }
            | OpError::BridgeUnusable { .. }
            | OpError::BridgeInUse { .. }
            | OpError::NoSocketId { .. }
            | OpError::TagTooLong(_)
            | OpError::Refused { .. } => ErrorCode::PortRejected,
        }
    }
}

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
        let driver: Box<dyn BlockingDriver> = match engine {
            EngineKind::OpenVswitch => {
                let client = OvsdbClient::connect(socket, OVSDB_TIMEOUT).map_err(EngineError::from)?;
                Box::new(OpenVswitch::new(client))
            }
            EngineKind::Vpp => {
                let client = VppClient::connect(socket, VPP_TIMEOUT).map_err(EngineError::from)?;
                Box::new(Vpp::new(client, memif_socket_ids))
            }
        };
        Ok(Self { driver })
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
