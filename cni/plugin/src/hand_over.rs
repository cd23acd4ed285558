//! How an attachment is handed over to programs for the older userspace CNI: only what a definition of its form attaches. Its socket has the
//! older name then, and beside it is a file with what the pod's annotation says. The annotation itself is the agent's to write, from the record.

use crate::cni::configuration::{Configuration, Target};
use crate::cni::result::Assignment;
use crate::description::Description;
use crate::node::OtherAttachments;
use crate::port::PortError;
use serde_json::json;
use usnet_crds::PortType;
use usnet_crds::legacy::{ContainerConf, Legacy};
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::configuration_data::{self, AddressAndGateway, Element, Told};

/// The older way of one attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandOver {
    pod_end: ContainerConf,
}

impl HandOver {
    /// The older way, if the configuration asks for its target in the older form.
    pub fn of(configuration: &Configuration, target: &Target) -> Option<Self> {
        match target {
            Target::Bridge(_) => Some(Self { pod_end: ContainerConf::read(configuration.keys()) }),
            Target::Network(_) => None,
        }
    }

    /// What the attachment's record and the pod are told in that way.
    pub fn element(&self, record: &Record, assignment: &Assignment) -> Option<Element> {
        let ip = |assigned: &crate::cni::result::AssignedAddress| AddressAndGateway {
            ip: assigned.address.addr(),
            prefix: assigned.address.prefix_len(),
            gateway: assigned.gateway,
        };
        let told = Told {
            pod_end: self.pod_end.clone(),
            ips: assignment.ips.iter().map(ip).collect(),
            routes: assignment.routes.iter().map(|route| json!(route)).collect(),
            dns: assignment.dns.clone(),
        };
        Element::new(record, &told)
    }
}

/// What the socket of an attachment is called in the pod's directory.
pub fn socket_name(target: &Target, port_type: PortType, attachment: &AttachmentId) -> String {
    match target {
        Target::Network(_) => Description::socket_name(&attachment.interface),
        Target::Bridge(legacy) => {
            let Legacy { socket_file, .. } = legacy.as_ref();
            socket_file.clone().unwrap_or_else(|| configuration_data::socket_name(port_type, attachment))
        }
    }
}

/// The name of an attachment's socket in the pod's directory, as its record has it.
pub fn socket_of(record: &Record) -> Option<String> {
    let name = record.port.connection.socket_file()?.file_name()?;
    Some(name.to_string_lossy().into_owned())
}

/// Refuses a socket of a name that another interface of the pod has: a definition that names one fits one interface.
///
/// # Errors
/// Which interface has it.
pub fn refuse_shared_socket(record: &Record, others: &OtherAttachments) -> Result<(), PortError> {
    let Some(socket) = record.port.connection.socket_file() else { return Ok(()) };
    let shares = |other: &&Record| {
        other.id.interface != record.id.interface && other.port.connection.socket_file() == Some(socket)
    };
    match others.known.iter().find(shares) {
        None => Ok(()),
        Some(other) => Err(PortError::SharedSocket {
            file: socket_of(record).unwrap_or_default(),
            interface: other.id.interface.clone(),
        }),
    }
}

/// The names of all files that an attachment has in the pod's directory. None of them is another attachment's but by its interface's name or
/// because two definitions name one socket.
pub fn files_of(record: &Record) -> Vec<String> {
    let named = [Description::file_name(&record.id.interface), configuration_data::file_name(&record.id)];
    named.into_iter().chain(socket_of(record)).collect()
}
