//! What an operation is about, for log lines. Pure.

use usnet_crds::NetworkName;
use usnet_dataplane::attachment::{AttachmentId, Pod, Record};
use usnet_dataplane::plan::Op;

/// The fields of a log line that say whose port, bridge or gateway an operation is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSubject<'a> {
    pub network: Option<&'a str>,
    /// The pod of the port. An attachment is named by the sandbox, which users do not know.
    pub pod: Option<&'a Pod>,
    pub interface: Option<&'a str>,
    pub attachment: Option<&'a AttachmentId>,
}

impl<'a> LogSubject<'a> {
    /// Reads the subject from the operation and, as far as the attachment is recorded, from its
    /// record: tags of ports on adopted bridges do not name the network.
    pub(crate) fn of(operation: &'a Op, records: &'a [Record]) -> Self {
        let attachment = operation.attachment();
        let record = attachment.and_then(|id| records.iter().find(|record| record.id == *id));
        let network = operation.network().or_else(|| record.map(|record| &record.network));
        Self {
            network: network.map(NetworkName::as_str),
            pod: record.map(|record| &record.pod),
            interface: attachment.map(|id| id.interface.as_str()),
            attachment,
        }
    }
}
