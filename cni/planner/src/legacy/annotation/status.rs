//! The interface status of an attachment, from its record and the result of its ADD.

use super::text::{plain, plain_text};
use crate::model::attachment::{
    BridgeEnd, End, Interface, Ip, IpResult, LegacyInterfaceStatus, MemifEnd, Record, VhostEnd,
};
use crate::model::port::PortBackend;
use serde_json::Value;
use std::net::IpAddr;
use usnet_crds::legacy::ContainerConf;
use usnet_crds::{MemifMode, SocketRole};

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
    pub ips: Vec<AddressAndGateway>,
    /// The routes, as CNI writes them.
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
        PortBackend::Memif { mode, .. } => {
            "memif".clone_into(&mut end.iftype);
            let mode = match mode {
                MemifMode::Ethernet => "ethernet",
                MemifMode::Ip => "ip",
            };
            end.memif = MemifEnd { role: "slave".to_owned(), mode: mode.to_owned(), socketfile };
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
