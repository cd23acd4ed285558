//! The variables of a call of CNI.

use std::collections::BTreeMap;
use std::path::Path;
use usnet_dataplane::attachment::{AttachmentId, Pod};

/// The variables of a call for an interface of a pod, as Multus would set them, without
/// `CNI_COMMAND` and `CNI_PATH`.
pub fn variables(pod: &Pod, id: &AttachmentId, network_namespace: &Path) -> BTreeMap<String, String> {
    let container = &id.container;
    let arguments = format!(
        "IgnoreUnknown=1;K8S_POD_NAMESPACE={};K8S_POD_NAME={};K8S_POD_INFRA_CONTAINER_ID={container};K8S_POD_UID={}",
        pod.namespace, pod.name, pod.uid
    );
    let variables = [
        ("CNI_CONTAINERID", container.to_string()),
        ("CNI_NETNS", network_namespace.display().to_string()),
        ("CNI_IFNAME", id.interface.to_string()),
        ("CNI_ARGS", arguments),
    ];
    variables.map(|(name, value)| (name.to_owned(), value)).into()
}
