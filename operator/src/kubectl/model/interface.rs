//! The interfaces of a pod, as Multus reports them once all are attached.

use super::pod::Pod;
use serde::Deserialize;

/// One interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Interface {
    /// The name of the network configuration; of a NetworkAttachmentDefinition `namespace/name`.
    #[serde(default)]
    pub name: String,
    /// The interface in the pod.
    #[serde(default)]
    pub interface: String,
    /// Its addresses, without prefix lengths.
    #[serde(default)]
    pub ips: Vec<String>,
    /// Its MAC address.
    #[serde(default)]
    pub mac: String,
}

/// The interfaces of a pod; none if Multus has reported none.
pub(crate) fn interfaces(pod: &Pod) -> Option<Vec<Interface>> {
    serde_json::from_str(pod.network_status.as_deref()?).ok()
}

/// The interface of a pod that has this name.
pub(crate) fn interface(pod: &Pod, name: &str) -> Option<Interface> {
    interfaces(pod)?.into_iter().find(|interface| interface.interface == name)
}
