//! Traffic counters of ports, read when they are asked for.
//!
//! The direction is the pod's: what an engine sends to a port, its pod receives. What an engine
//! does not count is absent, and not 0. Counters start at 0 when a port is created again, or with
//! the engine.
//!
//! Reading has connections of its own, which no other request waits for. Open vSwitch writes its
//! counters every five seconds; those of VPP are of the moment.
//!
//! `open_vswitch` and `vpp` each convert the counters of one engine (pure), and read them (IO).

mod open_vswitch;
#[cfg(test)]
mod tests;
mod vpp;

pub use crate::model::port_counters::{PortCounters, Traffic};

use crate::engine::EngineError;
use crate::model::port::PortName;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use usnet_crds::EngineKind;
use vpp::VppCounters;

/// How long one exchange with an engine may take. A scrape waits for it.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Reads the counters of one engine.
#[derive(Debug)]
pub struct CounterReader(Engine);

#[derive(Debug)]
enum Engine {
    OpenVswitch(PathBuf),
    Vpp(Box<VppCounters>),
}

impl CounterReader {
    /// A reader of the engine with this control socket. Nothing is read yet.
    pub fn new(engine: EngineKind, control_socket: PathBuf) -> Self {
        Self(match engine {
            EngineKind::OpenVswitch => Engine::OpenVswitch(control_socket),
            EngineKind::Vpp => Engine::Vpp(Box::new(VppCounters::new(control_socket))),
        })
    }

    /// Reads the counters of all ports of pods; those of Open vSwitch also of other ports.
    pub fn read(&mut self) -> Result<BTreeMap<PortName, PortCounters>, EngineError> {
        match &mut self.0 {
            Engine::OpenVswitch(socket) => open_vswitch::read(socket),
            Engine::Vpp(counters) => counters.read(),
        }
    }
}
