//! The engine of an attachment, asked for one port at a time and without an async runtime.

use std::path::Path;
use std::time::Duration;
use usnet_crds::Engine;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::engine::{Engine as Driver, EngineError, OpError};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::older_port::OlderPort;
use usnet_dataplane::ovs::OpenVswitch;
use usnet_dataplane::plan::Op;
use usnet_dataplane::port::PortMark;
use usnet_dataplane::ready::{NotReady, ready};
use usnet_dataplane::vpp::Vpp;
use usnet_ovsdb::blocking::Client as OvsdbClient;
use usnet_vpp::blocking::Client as VppClient;

/// How long the database of Open vSwitch may take to answer one request.
const OVSDB_TIMEOUT: Duration = Duration::from_secs(1);
/// How long Open vSwitch may take to make a port, and to take one away. With what is undone after a failure ADD then answers within 5 s; a
/// removal that was recorded is done by the switch whenever it gets to it, and the agent sees to that.
const CREATE_TIMEOUT: Duration = Duration::from_secs(3);
const REMOVE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long VPP may take to answer what was asked in one go: a second or two on a busy node where many pods start or stop at once. One that
/// hangs is told within 5 s. One that stops to answer in the middle of an ADD is waited for twice: once for the port, and once more to take
/// it away again.
const VPP_TIMEOUT: Duration = Duration::from_secs(4);

/// Why the engine did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum EngineClientError {
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

/// Where a port of the older userspace CNI is.
#[derive(Clone, Copy)]
pub struct LegacyPortLocation<'a> {
    /// Its bridge of Open vSwitch, where that is known.
    pub bridge: Option<&'a str>,
    /// Its name in Open vSwitch.
    pub port: &'a str,
    /// Whether a socket of VPP, by its path, is its own.
    pub owns_socket: &'a (dyn Fn(&str) -> bool + Sync),
}

/// A connection to an engine, for one request.
#[derive(Debug)]
pub enum EngineClient {
    /// Open vSwitch.
    OpenVswitch(OvsdbClient),
    /// VPP.
    Vpp(Vpp<VppClient>),
}

impl EngineClient {
    /// Connects to the engine of an attachment.
    ///
    /// # Errors
    /// When it does not answer. Nothing was asked of it then.
    pub fn connect(record: &Record) -> Result<Self, EngineClientError> {
        Self::connect_to(record.engine, &record.engine_socket, record.memif_socket_ids)
    }

    /// Connects to the engine at this socket.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn connect_to(
        engine: Engine,
        socket: &Path,
        memif_socket_ids: MemifSocketIds,
    ) -> Result<Self, EngineClientError> {
        match engine {
            Engine::OpenVswitch => {
                let client = OvsdbClient::connect(socket, OVSDB_TIMEOUT).map_err(EngineError::from)?;
                Ok(Self::OpenVswitch(client))
            }
            Engine::Vpp => {
                let client = VppClient::connect(socket, VPP_TIMEOUT).map_err(EngineError::from)?;
                Ok(Self::Vpp(Vpp::new(client, memif_socket_ids)))
            }
        }
    }

    /// All that the engine shows of what is ours.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn observe(self) -> Result<Observed, EngineClientError> {
        let no_answer = |error| EngineClientError::NoAnswer(Some(error));
        let observed = match self {
            Self::OpenVswitch(client) => ready(OpenVswitch::new(client).observe()),
            Self::Vpp(mut driver) => ready(driver.observe()),
        };
        Ok(observed.map_err(no_answer)??)
    }

    /// Makes the port of an attachment, and returns when the engine runs it.
    ///
    /// # Errors
    /// When it cannot be said that it runs.
    pub fn create_port(self, record: &Record) -> Result<(), EngineClientError> {
        let (network, attachment, port) = (record.network.clone(), record.id.clone(), record.port.clone());
        self.apply(Op::CreatePort { network, attachment, port }, CREATE_TIMEOUT)
    }

    /// Takes the port of an attachment away, if it is there.
    ///
    /// # Errors
    /// When it cannot be said that it is gone.
    pub fn remove_port(self, record: &Record) -> Result<(), EngineClientError> {
        let operation = Op::RemovePort {
            bridge: Some(record.port.bridge.to_string()),
            port: record.port.name.clone(),
            mark: PortMark::new(&record.network, &record.id),
            connection: Some(record.port.connection.clone()),
        };
        match self.apply(operation, REMOVE_TIMEOUT) {
            // Open vSwitch has no port without its bridge, and one that is not marked with the attachment is not its port.
            Err(EngineClientError::Operation(
                OpError::BridgeMissing { .. } | OpError::PortMissing { .. } | OpError::Foreign { .. },
            )) => Ok(()),
            other => other,
        }
    }

    /// Takes a port away that the older userspace CNI made, if it is there. No bridge goes with it.
    ///
    /// # Errors
    /// When it cannot be said that it is gone.
    pub fn remove_older_port(self, place: LegacyPortLocation<'_>) -> Result<OlderPort, EngineClientError> {
        let no_answer = |error| EngineClientError::NoAnswer(Some(error));
        let removed = match self {
            Self::OpenVswitch(client) => ready(OpenVswitch::new(client).remove_older_port(place.bridge, place.port)),
            Self::Vpp(mut driver) => ready(driver.remove_older_port(place.owns_socket)),
        };
        Ok(removed.map_err(no_answer)??)
    }

    fn apply(self, operation: Op, timeout: Duration) -> Result<(), EngineClientError> {
        match self {
            Self::OpenVswitch(client) => apply(OpenVswitch::new(client).with_patience(timeout), operation),
            Self::Vpp(driver) => apply(driver, operation),
        }
    }
}

fn apply(mut driver: impl Driver, operation: Op) -> Result<(), EngineClientError> {
    let answers = ready(driver.apply(&[operation])).map_err(|error| EngineClientError::NoAnswer(Some(error)))??;
    answers.into_iter().next().ok_or(EngineClientError::NoAnswer(None))?.map_err(EngineClientError::from)
}
