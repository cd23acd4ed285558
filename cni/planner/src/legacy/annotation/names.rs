//! Names that applications read or search for.

use crate::model::attachment::AttachmentId;
use usnet_crds::PortType;

/// The annotation with an element for each interface.
pub const ANNOTATION: &str = "userspace/configuration-data";
/// The annotation with the directory of the sockets, as seen by the application in the pod.
pub const MAPPED_DIR_ANNOTATION: &str = "userspace/mapped-dir";
/// Where applications look for sockets in a pod without that annotation, and where the examples
/// mount the volume.
pub const USUAL_MAPPED_DIR: &str = "/var/lib/cni/usrspcni";
/// How much of a container's id is in names, in bytes.
const SHORT_ID: usize = 12;

/// The annotation of a pod with these elements, each as returned by
/// [`to_annotation`](super::LegacyInterfaceStatus::to_annotation).
pub fn annotation(elements: &[impl AsRef<str>]) -> String {
    let elements: Vec<&str> = elements.iter().map(AsRef::as_ref).collect();
    format!("[{}]", elements.join(","))
}

/// `<container>-<interface>`, as far as names have the container's id.
fn short(attachment: &AttachmentId) -> String {
    format!("{}-{}", short_id(attachment), attachment.interface)
}

/// As much of the container's id as is in names. One that is shorter is taken whole.
pub fn short_id(attachment: &AttachmentId) -> String {
    attachment.container.as_str().chars().take(SHORT_ID).collect()
}

/// The name of an attachment's socket, as chosen by the legacy plugin.
pub fn socket_name(port_type: PortType, attachment: &AttachmentId) -> String {
    match port_type {
        PortType::Memif => format!("memif-{}.sock", short(attachment)),
        _ => short(attachment),
    }
}

/// The name of the file with an attachment's element, beside its socket.
pub fn file_name(attachment: &AttachmentId) -> String {
    format!("configData-{}.json", short(attachment))
}

/// The name of the file in which the legacy plugin kept its state of an attachment.
pub fn state_file_name(attachment: &AttachmentId) -> String {
    format!("local-{}.json", short(attachment))
}
