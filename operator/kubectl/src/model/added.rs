//! The parts of a UserspaceAttachment, by which an interface is added to a running pod.

use usnet_crds::UserspaceAttachment;
use usnet_crds::conditions::{READY, find};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Added {
    pub namespace: String,
    pub name: String,
    /// The name of the pod.
    pub pod: String,
    pub network: String,
    pub interface: String,
    /// Whether the interface is attached, with reason and message; `None` before the first report.
    pub ready: Option<(bool, String, String)>,
    pub mac: String,
    /// The addresses with their prefix lengths.
    pub ips: Vec<String>,
}

impl Added {
    pub(crate) fn is_attached(&self) -> bool {
        matches!(self.ready, Some((true, ..)))
    }

    /// Returns the name as kubectl accepts it.
    pub(crate) fn source(&self) -> String {
        format!("usna/{}", self.name)
    }
}

impl From<UserspaceAttachment> for Added {
    fn from(attachment: UserspaceAttachment) -> Self {
        let UserspaceAttachment { metadata, spec, status } = attachment;
        let status = status.unwrap_or_default();
        let ready = find(&status.conditions, READY);
        Self {
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
            pod: spec.pod,
            network: spec.network,
            interface: spec.interface,
            ready: ready.map(|ready| (ready.status == "True", ready.reason.clone(), ready.message.clone())),
            mac: status.mac,
            ips: status.ips,
        }
    }
}
