//! The interfaces of a pod, as Multus reports them after it has attached all of them.

use super::pod::Pod;
use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Interface {
    /// The name of the network configuration: `namespace/name` of a NetworkAttachmentDefinition.
    #[serde(default)]
    pub name: String,
    /// The name of the interface in the pod.
    #[serde(default)]
    pub interface: String,
    /// The IP addresses, without prefix lengths.
    #[serde(default)]
    pub ips: Vec<String>,
    #[serde(default)]
    pub mac: String,
}

/// Returns the interfaces of a pod; `None` if Multus has not reported any.
pub(crate) fn interfaces(pod: &Pod) -> Option<Vec<Interface>> {
    serde_json::from_str(pod.network_status.as_deref()?).ok()
}

pub(crate) fn interface(pod: &Pod, name: &str) -> Option<Interface> {
    interfaces(pod)?.into_iter().find(|interface| interface.interface == name)
}
