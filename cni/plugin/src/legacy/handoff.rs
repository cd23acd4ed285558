//! Files for programs that were written for Userspace CNI, for attachments by a legacy
//! configuration only: the socket has the name that the legacy plugin used, and a file beside it
//! has the content of the pod's annotation. The annotation itself is written by the agent, from the
//! record.

use crate::cni::configuration::{Configuration, Target};
use crate::cni::result::Assignment;
use crate::description::Description;
use crate::node::OtherAttachments;
use crate::port::PortError;
use serde_json::json;
use usnet_crds::PortType;
use usnet_crds::legacy::{ContainerConf, Legacy};
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::legacy_annotation::{self, AddressAndGateway, LegacyInterfaceStatus, LegacyResult};

/// The legacy handoff of one attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyHandoff {
    pod_end: ContainerConf,
}

impl LegacyHandoff {
    /// The handoff, if the target is that of a legacy configuration.
    pub fn from_target(configuration: &Configuration, target: &Target) -> Option<Self> {
        match target {
            Target::Bridge(_) => Some(Self { pod_end: ContainerConf::read(configuration.keys()) }),
            Target::Network(_) => None,
        }
    }

    /// The interface's status for the record and the pod, in the legacy plugin's format.
    pub fn interface_status(&self, record: &Record, assignment: &Assignment) -> Option<LegacyInterfaceStatus> {
        let ip = |assigned: &crate::cni::result::AssignedAddress| AddressAndGateway {
            ip: assigned.address.addr(),
            prefix: assigned.address.prefix_len(),
            gateway: assigned.gateway,
        };
        let result = LegacyResult {
            pod_end: self.pod_end.clone(),
            ips: assignment.ips.iter().map(ip).collect(),
            routes: assignment.routes.iter().map(|route| json!(route)).collect(),
            dns: assignment.dns.clone(),
        };
        LegacyInterfaceStatus::new(record, &result)
    }
}

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

/// Rejects a socket name that another interface of the pod uses: a configuration that names one
/// fits only one interface of a pod.
///
/// # Errors
/// Which interface has it.
pub fn check_socket_conflict(record: &Record, others: &OtherAttachments) -> Result<(), PortError> {
    let Some(socket) = record.port.backend.socket_file() else { return Ok(()) };
    let shares =
        |other: &&Record| other.id.interface != record.id.interface && other.port.backend.socket_file() == Some(socket);
    match others.known.iter().find(shares) {
        None => Ok(()),
        Some(other) => Err(PortError::SharedSocket {
            file: socket_of(record).unwrap_or_default(),
            interface: other.id.interface.clone(),
        }),
    }
}

/// The names of all files that an attachment has in the pod's directory. Another attachment has the
/// same ones only if it has the same interface name or its configuration names the same socket.
pub fn files_of(record: &Record) -> Vec<String> {
    let named = [Description::file_name(&record.id.interface), legacy_annotation::file_name(&record.id)];
    named.into_iter().chain(socket_of(record)).collect()
}
