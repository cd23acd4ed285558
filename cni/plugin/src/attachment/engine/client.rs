//! A synchronous client of the engine of an attachment, for one operation.

use super::drivers;
use super::error::EngineClientError;
use std::fmt;
use std::path::Path;
use std::time::Duration;
use usnet_crds::{BridgeName, EngineKind, NodeNetwork};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::drift::describe_drift;
use usnet_dataplane::engine::{BlockingDriver, Committed, OpError};
use usnet_dataplane::legacy_port::{LegacyPort, LegacyPortLocation};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::owner::PortOwner;
use usnet_dataplane::plan::Op;
use usnet_dataplane::port::DesiredPort;

/// How long an engine that acts later than it replies (Open vSwitch) may take to create a port.
/// kubelet waits for ADD, so that a longer time delays the error of every pod on a node with a
/// hanging switch: together with the rollback ADD returns within 5 s. A shorter one fails on a busy
/// node, where a port takes a second or two.
const CREATE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long such an engine may take to remove a port before another one is created in its place.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection to an engine, for one operation.
pub struct EngineClient {
    driver: Box<dyn BlockingDriver>,
}

/// A port that an engine has accepted to create, and may not have created yet.
pub struct RequestedPort {
    driver: Box<dyn BlockingDriver>,
    operation: Op,
    committed: Committed,
}

impl fmt::Debug for RequestedPort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RequestedPort").field("operation", &self.operation).finish_non_exhaustive()
    }
}

impl RequestedPort {
    /// Returns when the engine has created the port. The result is the index of the port's
    /// interface, if the engine has such indexes.
    ///
    /// # Errors
    /// It is not certain that the port works.
    pub fn complete(mut self) -> Result<Option<u32>, EngineClientError> {
        let interface_index = self.committed.interface_index;
        only_result(self.driver.complete(&[self.operation], self.committed)?)?;
        Ok(interface_index)
    }
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
    /// The engine does not answer. Nothing was sent to it then.
    pub fn connect(record: &Record) -> Result<Self, EngineClientError> {
        Self::connect_to(record.engine, &record.engine_socket, record.memif_socket_ids)
    }

    /// Connects to an engine at this control socket.
    pub fn connect_to(
        engine: EngineKind,
        socket: &Path,
        memif_socket_ids: MemifSocketIds,
    ) -> Result<Self, EngineClientError> {
        Ok(Self { driver: drivers::connect(engine, socket, memif_socket_ids)? })
    }

    /// Checks that the engine has a bridge.
    pub fn check_bridge(mut self, bridge: &BridgeName) -> Result<(), EngineClientError> {
        match self.driver.observe()?.bridges.contains_key(bridge.as_str()) {
            true => Ok(()),
            false => Err(OpError::BridgeMissing { bridge: bridge.to_string() }.into()),
        }
    }

    /// How the port of an attachment differs from the spec of its network; without the spec it is
    /// compared with the record.
    pub fn port_differences(
        mut self,
        record: &Record,
        network: Option<NodeNetwork>,
    ) -> Result<Vec<String>, EngineClientError> {
        let desired = Desired::new(network, [record]);
        let observed = self.driver.observe()?;
        Ok(desired.attachment(&record.id).map(|wanted| describe_drift(wanted, &observed)).unwrap_or_default())
    }

    /// Requests the port of an attachment: the engine creates it while the caller does other work.
    pub fn request_port(mut self, record: &Record) -> Result<RequestedPort, EngineClientError> {
        let port = DesiredPort::of_attachment(record);
        let operation = Op::CreatePort { port: port.into() };
        self.driver.set_apply_timeout(CREATE_TIMEOUT);
        let committed = self.driver.commit(std::slice::from_ref(&operation))?;
        Ok(RequestedPort { driver: self.driver, operation, committed })
    }

    /// Creates the port of an attachment, and returns when the engine has created it, like
    /// [`RequestedPort::complete`].
    pub fn create_port(self, record: &Record) -> Result<Option<u32>, EngineClientError> {
        self.request_port(record)?.complete()
    }

    /// Changes the port of an attachment to what its record says by now.
    pub fn update_port(mut self, record: &Record) -> Result<(), EngineClientError> {
        let operation = Op::UpdatePort { port: DesiredPort::of_attachment(record).into() };
        self.driver.set_apply_timeout(CREATE_TIMEOUT);
        let committed = self.driver.commit(std::slice::from_ref(&operation))?;
        only_result(self.driver.complete(&[operation], committed)?)
    }

    /// Removes the port of an attachment, if it exists. Returns when the engine has accepted that:
    /// ovs-vswitchd applies the commit to the database as soon as it runs, and the agent reports an
    /// ovs-vswitchd that does not run.
    ///
    /// # Errors
    /// It is not certain that the port will be removed.
    pub fn remove_port(mut self, record: &Record) -> Result<(), EngineClientError> {
        self.tag_legacy_port(record)?;
        ignore_missing_port(only_result(self.driver.commit(&[removal(record)])?.results))
    }

    /// Removes the port of an attachment, if it exists, and returns when the engine has removed it.
    ///
    /// # Errors
    /// It is not certain that the port is removed.
    pub fn remove_port_and_wait(mut self, record: &Record) -> Result<(), EngineClientError> {
        self.driver.set_apply_timeout(REMOVE_TIMEOUT);
        self.tag_legacy_port(record)?;
        ignore_missing_port(only_result(self.driver.apply(&[removal(record)])?))
    }

    /// Tags the port of an attachment that was taken over, if the agent has not done so yet:
    /// without a tag it would not be removed.
    fn tag_legacy_port(&mut self, record: &Record) -> Result<(), EngineClientError> {
        if !record.taken_over {
            return Ok(());
        }
        let operation = Op::TakeOverPort { port: DesiredPort::of_attachment(record).into() };
        ignore_missing_port(only_result(self.driver.commit(&[operation])?.results))
    }

    /// Removes a port that the legacy plugin created, if it exists. The bridge is kept.
    pub fn remove_legacy_port(mut self, place: LegacyPortLocation<'_>) -> Result<LegacyPort, EngineClientError> {
        Ok(self.driver.remove_legacy_port(place)?)
    }
}

fn removal(record: &Record) -> Op {
    Op::RemovePort {
        bridge: Some(record.port.bridge.to_string()),
        port: record.port.name.clone(),
        owner: PortOwner::new(&record.network, &record.id),
        backend: Some(record.port.backend.clone()),
        interface_index: record.interface_index,
    }
}

/// Accepts that a port does not exist. In Open vSwitch it does not exist without its bridge, and a
/// port without the attachment's tag is another one.
fn ignore_missing_port(result: Result<(), EngineClientError>) -> Result<(), EngineClientError> {
    match result {
        Err(EngineClientError::Operation(
            OpError::BridgeMissing { .. } | OpError::PortMissing { .. } | OpError::Foreign { .. },
        )) => Ok(()),
        other => other,
    }
}

fn only_result(results: Vec<Result<(), OpError>>) -> Result<(), EngineClientError> {
    Ok(results.into_iter().next().ok_or(EngineClientError::NoResult)??)
}
