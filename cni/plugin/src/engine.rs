//! The engine of this node, asked for one port at a time and without an async runtime.

use std::path::Path;
use std::time::Duration;
use usnet_crds::Engine;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::engine::{Engine as _, EngineError, OpError};
use usnet_dataplane::ovs::OpenVswitch;
use usnet_dataplane::plan::Op;
use usnet_dataplane::port::PortMark;
use usnet_ovsdb::blocking::{Client, NotReady, ready};

/// How long the engine's database may take to answer one request.
const DATABASE_PATIENCE: Duration = Duration::from_secs(1);
/// How long the switch may take to make a port, and to take one away. With what is undone after a failure ADD then answers within 5 s; a
/// removal that was recorded is done by the switch whenever it gets to it, and the agent sees to that.
const CREATE_PATIENCE: Duration = Duration::from_secs(3);
const REMOVE_PATIENCE: Duration = Duration::from_secs(1);

/// Why the engine did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// It cannot be used; nothing is known of what it did.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It answered, and did not do it.
    #[error(transparent)]
    Operation(#[from] OpError),
    /// A driver that needs a runtime, or that answers fewer operations than it was given: a defect of ours.
    #[error("the driver of the engine gave no answer; this is a defect of usnet, please report it")]
    NoAnswer(#[source] Option<NotReady>),
}

/// A connection to an engine, for one request.
#[derive(Debug)]
pub struct Switch(Client);

impl Switch {
    /// Connects to the engine whose control socket this is.
    ///
    /// # Errors
    /// When it does not answer. Nothing was asked of it then.
    pub fn connect(engine: Engine, socket: &Path) -> Result<Self, SwitchError> {
        match engine {
            Engine::OpenVswitch => {
                let client = Client::connect(socket, DATABASE_PATIENCE).map_err(EngineError::from)?;
                Ok(Self(client))
            }
        }
    }

    /// Makes the port of an attachment, and returns when the engine runs it.
    ///
    /// # Errors
    /// When it cannot be said that it runs.
    pub fn create_port(self, record: &Record) -> Result<(), SwitchError> {
        let (network, attachment, port) = (record.network.clone(), record.id.clone(), record.port.clone());
        self.apply(Op::CreatePort { network, attachment, port }, CREATE_PATIENCE)
    }

    /// Takes the port of an attachment away, if it is there.
    ///
    /// # Errors
    /// When it cannot be said that it is gone.
    pub fn remove_port(self, record: &Record) -> Result<(), SwitchError> {
        let (bridge, port) = (record.port.bridge.to_string(), record.port.name.clone());
        let mark = PortMark { network: record.network.clone(), attachment: record.id.to_string() };
        match self.apply(Op::RemovePort { bridge, port, mark }, REMOVE_PATIENCE) {
            // Without the bridge there is no port, and one that is not marked with the attachment is not its port.
            Err(SwitchError::Operation(
                OpError::BridgeMissing { .. } | OpError::PortMissing { .. } | OpError::Foreign { .. },
            )) => Ok(()),
            other => other,
        }
    }

    fn apply(self, operation: Op, patience: Duration) -> Result<(), SwitchError> {
        let mut driver = OpenVswitch::new(self.0).with_patience(patience);
        let answers = ready(driver.apply(&[operation])).map_err(|error| SwitchError::NoAnswer(Some(error)))??;
        answers.into_iter().next().ok_or(SwitchError::NoAnswer(None))?.map_err(SwitchError::from)
    }
}
