//! The interface status that applications of the legacy userspace CNI read: file names that contain
//! the container id, and an element of the pod's annotation `userspace/configuration-data`, which
//! is also a file beside the socket.
//!
//! The format is that of the legacy plugin (`pkg/types`, `ConfigurationData`), including the order
//! of keys: applications expect `containerId` first. They split lines at `=`, strip all spaces and
//! backslashes, and recognise an address only by its `version`; so texts contain none of these
//! characters, and addresses have a `version`. Pure.

mod text;

pub use crate::model::attachment::LegacyInterfaceStatus;

use crate::model::attachment::{AttachmentId, BridgeEnd, End, Interface, Ip, IpResult, MemifEnd, Record, VhostEnd};
use crate::model::port::PortBackend;
use serde_json::Value;
use std::net::IpAddr;
use text::{plain, plain_text};
use usnet_crds::legacy::ContainerConf;
use usnet_crds::{PortType, SocketRole};

/// The annotation with an element for each interface.
pub const ANNOTATION: &str = "userspace/configuration-data";
/// The annotation with the directory of the sockets, as seen by the application in the pod.
pub const MAPPED_DIR_ANNOTATION: &str = "userspace/mapped-dir";
/// Where applications look for sockets in a pod without that annotation, and where the examples
/// mount the volume.
pub const USUAL_MAPPED_DIR: &str = "/var/lib/cni/usrspcni";
/// How much of a container's id is in names, in bytes.
const SHORT_ID: usize = 12;
/// The CNI version that the legacy plugin wrote, regardless of the configuration's version.
const RESULT_VERSION: &str = "1.1.0";
/// The default of the legacy plugin, if the configuration does not describe the pod's endpoint.
const NETWORK_TYPE: &str = "interface";
/// Name servers are omitted beyond this size in bytes: applications read lines of at most 64 KiB,
/// which have to hold all interfaces of the pod.
const DNS_MAX: usize = 4096;

/// An address of the interface, as text with the length of its prefix, and its gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressAndGateway {
    /// The address.
    pub ip: IpAddr,
    /// Length of its prefix, in bits.
    pub prefix: u8,
    /// The gateway of its subnet.
    pub gateway: Option<IpAddr>,
}

/// What the interface status has beyond the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LegacyResult {
    /// The pod's end, as the configuration has it.
    pub pod_end: ContainerConf,
    /// Its addresses.
    pub ips: Vec<AddressAndGateway>,
    /// Its routes, as CNI writes them.
    pub routes: Vec<Value>,
    /// Name servers, as CNI writes them.
    pub dns: Option<Value>,
}

impl LegacyInterfaceStatus {
    /// The status of an attachment; `None` if it has no socket in the pod's directory, which is all
    /// that applications support.
    pub fn new(record: &Record, result: &LegacyResult) -> Option<Self> {
        let socketfile = record.port.backend.socket_file()?.file_name()?.to_string_lossy().into_owned();
        let sandbox = plain(&record.network_namespace.to_string_lossy());
        let interface = Interface { name: plain(record.id.interface.as_str()), sandbox };
        let has_addresses = !result.ips.is_empty() || !result.routes.is_empty();
        Some(Self {
            container_id: record.id.container.to_string(),
            if_name: plain(record.id.interface.as_str()),
            name: plain(record.configuration_name.as_deref().unwrap_or_default()),
            config: pod_end(&record.port.backend, socketfile, &result.pod_end),
            ip_result: IpResult {
                cni_version: if has_addresses { RESULT_VERSION.to_owned() } else { String::new() },
                interfaces: vec![interface],
                ips: result.ips.iter().map(address).collect(),
                routes: result.routes.iter().map(plain_text).collect(),
                dns: result.dns.as_ref().filter(|dns| says_something(dns)).map(plain_text),
            },
        })
    }
}

fn pod_end(backend: &PortBackend, socketfile: String, result: &ContainerConf) -> End {
    let network_type = if result.network_type.is_empty() { NETWORK_TYPE } else { &result.network_type };
    let mut end = End {
        engine: plain(&result.engine),
        iftype: String::new(),
        net_type: plain(network_type),
        memif: MemifEnd::default(),
        vhost: VhostEnd { group: plain(&result.group), ..VhostEnd::default() },
        bridge: BridgeEnd {
            bridge_name: plain(&result.bridge_name),
            bridge_id: result.bridge_id,
            vlan_id: result.vlan_id,
        },
    };
    match backend {
        PortBackend::VhostUser { engine_role, .. } => {
            "vhostuser".clone_into(&mut end.iftype);
            end.vhost.socketfile = socketfile;
            // Seen from the pod's program.
            let mode = if *engine_role == SocketRole::Client { "server" } else { "client" };
            mode.clone_into(&mut end.vhost.mode);
        }
        PortBackend::Memif { .. } => {
            "memif".clone_into(&mut end.iftype);
            end.memif = MemifEnd { role: "slave".to_owned(), mode: "ethernet".to_owned(), socketfile };
        }
        // The legacy plugin has no others.
        _ => {}
    }
    end
}

fn address(result: &AddressAndGateway) -> Ip {
    let version = if result.ip.is_ipv4() { "4" } else { "6" };
    Ip { version: version.to_owned(), address: format!("{}/{}", result.ip, result.prefix), gateway: result.gateway }
}

fn says_something(dns: &Value) -> bool {
    dns.as_object().is_some_and(|parts| !parts.is_empty()) && dns.to_string().len() <= DNS_MAX
}

/// The annotation of a pod with these elements, each as returned by
/// [`LegacyInterfaceStatus::to_annotation`].
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

#[cfg(test)]
mod tests;
