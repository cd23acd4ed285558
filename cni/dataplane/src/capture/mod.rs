//! Copying the frames of a pod's port to a program on its node.
//!
//! The program listens on a vhost-user socket. The engine connects to it and sends copies there:
//! Open vSwitch by a `Mirror`, VPP by SPAN at the device. All of it has a mark with the number of
//! the capture, by which any process finds and removes it. The order of removal is that no copy can
//! reach another port: mirror before port, SPAN before interface.
//!
//! - [`lease`] (IO): who captures. The locks end with the process, however it ends.
//! - `open_vswitch`, `vpp` (IO): start, stop and list on an engine, on connections of their own.

pub mod lease;
mod open_vswitch;
mod vpp;

pub use crate::model::capture::{CAPTURES_MAX, Capture, CaptureNumber, Direction};

use crate::engine::EngineError;
use crate::model::owner::PortOwner;
use crate::model::port::PortName;
use std::path::PathBuf;
use std::time::Duration;
use usnet_crds::EngineKind;

/// How long one exchange with an engine may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Why a capture does not start or stop.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine as a whole did not answer.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The port is not there, or is not that of the attachment.
    #[error("{engine} does not have port {port} of this interface: usnet node status shows why")]
    NoPort { engine: EngineKind, port: PortName },
    /// The engine did not do it.
    #[error("{engine} did not {action}: {reason}")]
    Refused {
        engine: EngineKind,
        action: &'static str,
        /// In the words of the engine.
        reason: String,
    },
}

/// The captures of one engine.
#[derive(Debug)]
pub struct Captures {
    engine: EngineKind,
    control_socket: PathBuf,
}

impl Captures {
    /// Captures at the engine with this control socket. Nothing is sent yet.
    pub fn new(engine: EngineKind, control_socket: PathBuf) -> Self {
        Self { engine, control_socket }
    }

    /// Starts to copy. What an earlier capture of this number left is removed before.
    ///
    /// The caller has the lock of the attachment, so that its port is not removed meanwhile.
    ///
    /// # Errors
    /// When there is no such port, or the engine does not do it; then nothing is left.
    pub fn start(&self, capture: &Capture, owner: &PortOwner) -> Result<(), Error> {
        self.stop(capture.number)?;
        let started = match self.engine {
            EngineKind::OpenVswitch => open_vswitch::start(&self.control_socket, capture, owner),
            EngineKind::Vpp => vpp::start(&self.control_socket, capture, owner),
        };
        if started.is_err() {
            // The first error is returned; what is left is removed by the agent.
            let _stopped = self.stop(capture.number);
        }
        started
    }

    /// Removes all of a capture. Returns whether there was anything.
    pub fn stop(&self, number: CaptureNumber) -> Result<bool, Error> {
        match self.engine {
            EngineKind::OpenVswitch => open_vswitch::stop(&self.control_socket, number),
            EngineKind::Vpp => vpp::stop(&self.control_socket, number),
        }
    }

    /// The captures that the engine has something of.
    pub fn list(&self) -> Result<Vec<CaptureNumber>, Error> {
        match self.engine {
            EngineKind::OpenVswitch => open_vswitch::list(&self.control_socket),
            EngineKind::Vpp => vpp::list(&self.control_socket),
        }
    }

    /// How many copies were lost because the program was too slow, as far as the engine has counted
    /// them; none if it does not say.
    pub fn lost(&self, number: CaptureNumber) -> Option<u64> {
        match self.engine {
            EngineKind::OpenVswitch => open_vswitch::lost(&self.control_socket, number),
            EngineKind::Vpp => vpp::lost(&self.control_socket, number),
        }
    }
}
