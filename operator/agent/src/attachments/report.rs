//! The reports of attachments. Pure.

use usnet_common::display::OneLine;
use usnet_crds::attachment::node::IPS_MAX_REPORTED;
use usnet_crds::conditions::reason::{
    ATTACH_FAILED, DETACH_FAILED, INTERFACE_TAKEN, NETWORK_UNAVAILABLE, PLUGIN_UNREACHABLE,
};
use usnet_crds::node_state::MESSAGE_MAX;
use usnet_crds::{AttachmentReport, AttachmentState};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::port::PortBackend;
use usnet_node::attach;

/// CNI's code for an ADD that should be tried again.
const TRY_AGAIN_LATER: u32 = 11;
/// The plugin's code for an interface that the pod has already.
const ALREADY_ATTACHED: u32 = 103;

/// Why an attachment is not attached or not detached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    pub(super) fn of_attaching(error: &attach::Error) -> Self {
        let reason = match error {
            attach::Error::Unreachable(_) => PLUGIN_UNREACHABLE,
            attach::Error::Plugin(error) => match error.code {
                TRY_AGAIN_LATER => NETWORK_UNAVAILABLE,
                ALREADY_ATTACHED => INTERFACE_TAKEN,
                _ => ATTACH_FAILED,
            },
        };
        Self::new(reason, error.to_string())
    }

    pub(super) fn of_detaching(error: &attach::Error) -> Self {
        match error {
            attach::Error::Unreachable(_) => Self::new(PLUGIN_UNREACHABLE, error.to_string()),
            attach::Error::Plugin(_) => Self::new(DETACH_FAILED, error.to_string()),
        }
    }
}

/// The report of an interface that is not attached.
pub(super) fn report(uid: &str, state: AttachmentState, failure: Option<&Failure>) -> AttachmentReport {
    AttachmentReport {
        uid: uid.to_owned(),
        state,
        reason: failure.map(|failure| failure.reason.to_owned()).unwrap_or_default(),
        message: failure.map(|failure| truncated(&failure.message)).unwrap_or_default(),
        mac: None,
        ips: Vec::new(),
        socket: String::new(),
        mtu: None,
    }
}

/// The report of an attached interface.
pub(super) fn attached(uid: &str, record: &Record) -> AttachmentReport {
    let addresses = record.addresses.iter().map(|address| format!("{}/{}", address.ip, address.prefix));
    AttachmentReport {
        mac: record.mac.parse().ok(),
        ips: addresses.take(IPS_MAX_REPORTED).collect(),
        socket: socket(record),
        mtu: Some(record.port.settings.mtu.get()),
        ..report(uid, AttachmentState::Attached, None)
    }
}

/// The name of the socket's file in the pod's volume, or of the abstract socket.
fn socket(record: &Record) -> String {
    let backend = &record.port.backend;
    let file = backend.socket_file().and_then(|path| path.file_name());
    match (file, backend) {
        (Some(name), _) => name.to_string_lossy().into_owned(),
        (None, PortBackend::Memif { .. }) => record.id.interface.to_string(),
        (None, _) => String::new(),
    }
}

fn truncated(message: &str) -> String {
    let line = OneLine(message).to_string();
    if line.chars().count() <= MESSAGE_MAX {
        return line;
    }
    line.chars().take(MESSAGE_MAX - 1).chain(['…']).collect()
}
