//! The drivers of the engines, and where the engines differ for the plugin. Except for the files of
//! the legacy plugin, no other file of this crate names an engine: a new engine is an arm in each
//! function here.

use std::path::Path;
use std::time::Duration;
use usnet_crds::{EngineKind, SocketRole};
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::engine::{BlockingDriver, EngineError, TagTooLong};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::ovs::{BlockingChannels, OpenVswitch, ServerSocket};
use usnet_dataplane::port::PortBackend;
use usnet_dataplane::vpp::{self, Vpp};
use usnet_ovsdb::blocking::Client as OvsdbClient;
use usnet_vpp::blocking::Client as VppClient;

/// The timeout of one OVSDB transaction. ovsdb-server replies within milliseconds even when
/// ovs-vswitchd is busy. If it takes longer it hangs, and the pod's event should say so soon.
const OVSDB_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a bridge may take to accept the flows of a port, which are committed within
/// milliseconds: between two changes of the configuration of a switch, each of which takes up to
/// some 100 ms.
const OPENFLOW_TIMEOUT: Duration = Duration::from_secs(1);
/// The timeout of a batch of VPP API messages. A busy node where many pods start or stop at the
/// same time needs a second or two, and ADD would fail with less. With more, a hanging VPP would
/// not be reported within 5 s. If it hangs in the middle of an ADD the timeout applies twice: to
/// the port and to its rollback.
const VPP_TIMEOUT: Duration = Duration::from_secs(4);

pub(super) fn connect(
    engine: EngineKind,
    socket: &Path,
    memif_socket_ids: MemifSocketIds,
) -> Result<Box<dyn BlockingDriver>, EngineError> {
    Ok(match engine {
        EngineKind::OpenVswitch => {
            let database = OvsdbClient::connect(socket, OVSDB_TIMEOUT)?;
            Box::new(OpenVswitch::new(BlockingChannels::new(database, socket, OPENFLOW_TIMEOUT)))
        }
        EngineKind::Vpp => Box::new(Vpp::new(VppClient::connect(socket, VPP_TIMEOUT)?, memif_socket_ids)),
    })
}

/// Checks that the container id and the interface name of an attachment fit into the ownership tags
/// of an engine.
pub fn check_tag(engine: EngineKind, attachment: &AttachmentId) -> Result<(), TagTooLong> {
    match engine {
        EngineKind::OpenVswitch => Ok(()),
        EngineKind::Vpp => vpp::check_attachment(attachment),
    }
}

/// Whether the engine creates a port without its socket, and keeps trying to connect to the socket.
/// If not, it needs the socket's folder to create the port.
pub fn opens_sockets_later(engine: EngineKind) -> bool {
    match engine {
        EngineKind::OpenVswitch => true,
        EngineKind::Vpp => false,
    }
}

/// The socket of an attachment, if the engine listens on it, and creates it at a place of its own.
pub fn server_socket(record: &Record) -> Option<ServerSocket> {
    let PortBackend::VhostUser { engine_role: SocketRole::Server, .. } = record.port.backend else { return None };
    match record.engine {
        EngineKind::OpenVswitch => Some(ServerSocket::new(&record.engine_socket, &record.port.name)),
        EngineKind::Vpp => None,
    }
}

/// Whether the engine sets each device promiscuous that it uses.
pub(super) fn sets_promiscuous(engine: EngineKind) -> bool {
    match engine {
        EngineKind::OpenVswitch => true,
        EngineKind::Vpp => false,
    }
}
