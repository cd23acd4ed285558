//! The port of an ADD, from the connection to the engine until the engine has created the port.

use super::client::{EngineClient, RequestedPort};
use super::drivers::sets_promiscuous;
use super::error::EngineClientError;
use crate::attachment::interface;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::port::{DeviceName, PortBackend};

#[derive(Debug)]
pub struct NewPort(State);

#[derive(Debug)]
enum State {
    /// The port is not requested yet.
    Connected(EngineClient),
    /// The engine has accepted the port.
    Requested(Box<RequestedPort>),
    /// There is no connection: the engine has created the port, or a request failed.
    Idle,
}

impl NewPort {
    pub fn new(engine: EngineClient) -> Self {
        Self(State::Connected(engine))
    }

    pub fn request(&mut self, record: &Record) -> Result<(), EngineClientError> {
        let engine = match std::mem::replace(&mut self.0, State::Idle) {
            State::Connected(engine) => engine,
            State::Requested(_) | State::Idle => EngineClient::connect(record)?,
        };
        self.0 = State::Requested(Box::new(engine.request_port(record)?));
        Ok(())
    }

    /// Waits until the engine has created the port, if it was requested, and sets the index of its
    /// interface in the record.
    ///
    /// # Errors
    /// It is not certain that the port works.
    pub fn complete(&mut self, record: &mut Record) -> Result<(), EngineClientError> {
        match std::mem::replace(&mut self.0, State::Idle) {
            State::Requested(port) => match (port.complete(), by_af_xdp(record)) {
                (Ok(index), _) => record.interface_index = index,
                (Err(EngineClientError::Operation(OpError::Refused { reason, .. })), Some(device)) => {
                    return fall_back(record, device, reason);
                }
                (Err(error), _) => return Err(error),
            },
            other => {
                self.0 = other;
                return Ok(());
            }
        }
        if uses_device(record) {
            return Ok(());
        }
        EngineClient::connect(record)?.remove_port_and_wait(record)?;
        record.interface_index = EngineClient::connect(record)?.create_port(record)?;
        Ok(())
    }
}

/// The device that the engine is to have by AF_XDP.
fn by_af_xdp(record: &Record) -> Option<DeviceName> {
    match &record.port.backend {
        PortBackend::AfXdp { device, .. } => Some(device.clone()),
        _ => None,
    }
}

/// Creates the port by packet sockets, which need nothing of the kernel that AF_XDP may lack: a pod
/// whose interface is slower is better than one that does not start. The record says why.
fn fall_back(record: &mut Record, device: DeviceName, reason: String) -> Result<(), EngineClientError> {
    EngineClient::connect(record)?.remove_port_and_wait(record)?;
    record.port.backend = PortBackend::Device { device };
    record.port.without_af_xdp = Some(reason);
    record.interface_index = EngineClient::connect(record)?.create_port(record)?;
    Ok(())
}

/// Whether the engine uses the device that ADD created.
///
/// When a DEL and an ADD of one attachment follow each other so fast that ovs-vswitchd reads both
/// changes at once, it takes the port of the same name for the same one. It then keeps listening on
/// the device of the former pair, which is deleted, and reports no error (observed with 3.1). It
/// sets each device promiscuous that it opens, so that it does not use a device that is not
/// promiscuous. If the device cannot be read it counts as used: the port was created.
fn uses_device(record: &Record) -> bool {
    match record.port.backend.device() {
        Some(device) if sets_promiscuous(record.engine) => interface::is_promiscuous(device).unwrap_or(true),
        _ => true,
    }
}
