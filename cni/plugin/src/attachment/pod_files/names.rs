//! The names of an attachment's files in the pod's directory.

use super::description::Description;
use crate::protocol::configuration::Target;
use usnet_crds::PortType;
use usnet_crds::legacy::Legacy;
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::legacy_annotation;

/// The name of a new attachment's socket in the pod's directory.
pub fn socket_name(target: &Target, port_type: PortType, attachment: &AttachmentId) -> String {
    match target {
        Target::Network(_) => Description::socket_name(&attachment.interface),
        Target::Bridge(legacy) => {
            let Legacy { socket_file, .. } = legacy.as_ref();
            socket_file.clone().unwrap_or_else(|| legacy_annotation::socket_name(port_type, attachment))
        }
    }
}

/// The name of an attachment's socket in the pod's directory, by its record.
pub fn socket_of(record: &Record) -> Option<String> {
    let name = record.port.backend.socket_file()?.file_name()?;
    Some(name.to_string_lossy().into_owned())
}

/// The names of all files that an attachment has in the pod's directory. Another attachment has one
/// of them only if it has the same interface name or its configuration names the same socket.
pub fn files_of(record: &Record) -> Vec<String> {
    let named = [Description::file_name(&record.id.interface), legacy_annotation::file_name(&record.id)];
    named.into_iter().chain(socket_of(record)).collect()
}
