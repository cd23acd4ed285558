//! The description of an interface for the pod's program: the file `<interface>.json` in the pod's
//! `usnet` volume.
//!
//! The description is written last: when a program finds it, the engine serves the socket. One side
//! of the socket listens and the other connects, and reconnects when one of them restarts; `role`
//! is the program's side. The memif driver of DPDK takes `role`, `id`, `secret` and the socket
//! unchanged and the binary logarithm of `ringSize` (`rsize`); its virtio driver takes `ringSize`
//! itself (`queue_size`), and `packedRings` as `packed_vq`.
//!
//! A memif with an abstract socket and no secret needs no volume and has no description: its socket
//! has the interface's name, in the network namespace of the pod, and its id is 0.

use crate::attachment::port::pod_endpoint::{EndpointType, Role, pod_endpoint};
use crate::protocol::result::{AssignedAddress, Assignment, Route};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use usnet_crds::{MacAddress, Mtu, NetworkName, Queues, RingSize};
use usnet_dataplane::attachment::{InterfaceName, Record};

/// The place of the socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Socket {
    /// The name of a file in the folder of this description, wherever the pod mounts it.
    #[serde(rename = "socket")]
    File(String),
    /// The name of an abstract socket in the pod's network namespace.
    #[serde(rename = "abstractSocket")]
    Abstract(String),
}

impl fmt::Display for Socket {
    /// An abstract socket is written with a leading `@`, as is customary.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(name) => formatter.write_str(name),
            Self::Abstract(name) => write!(formatter, "@{name}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The layout of this file; [`Description::VERSION`] when written by this release.
    pub version: u32,
    pub network: NetworkName,
    pub interface: InterfaceName,
    /// The type of the endpoint, with the fields of that type.
    #[serde(flatten)]
    pub endpoint: EndpointType,
    /// The program's side of the socket.
    pub role: Role,
    #[serde(flatten)]
    pub socket: Socket,
    /// The MAC address that the program should use.
    pub mac: MacAddress,
    /// The largest payload, in bytes.
    pub mtu: Mtu,
    /// The number of queue pairs that the engine serves.
    pub queues: Queues,
    /// The number of descriptors that each ring should have.
    pub ring_size: RingSize,
    pub ips: Vec<AssignedAddress>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// The DNS settings in CNI's format, if IPAM returned any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<Value>,
}

impl Description {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;

    /// The description of an attachment; none for a veth, which is described by the kernel.
    pub fn new(record: &Record, mac: MacAddress, assignment: &Assignment) -> Option<Self> {
        let (interface, port) = (&record.id.interface, &record.port);
        let (endpoint, role) = pod_endpoint(record.engine, port)?;
        Some(Self {
            version: Self::VERSION,
            network: record.network.clone(),
            interface: interface.clone(),
            endpoint,
            role,
            socket: match port.backend.socket_file() {
                Some(path) => Socket::File(path.file_name().unwrap_or_default().to_string_lossy().into_owned()),
                None => Socket::Abstract(interface.to_string()),
            },
            mac,
            mtu: port.settings.mtu,
            queues: port.queues,
            ring_size: port.ring_size,
            ips: assignment.ips.clone(),
            routes: assignment.routes.clone(),
            dns: assignment.dns.clone().filter(|dns| dns.as_object().is_some_and(|parts| !parts.is_empty())),
        })
    }

    /// Whether the engine creates the socket's file.
    pub fn engine_creates_socket(&self) -> bool {
        self.role == Role::Client && matches!(self.socket, Socket::File(_))
    }

    /// The name of an interface's description.
    pub fn file_name(interface: &InterfaceName) -> String {
        format!("{interface}.json")
    }

    /// The name of an interface's socket, unless it was attached by a legacy configuration.
    pub fn socket_name(interface: &InterfaceName) -> String {
        format!("{interface}.sock")
    }

    pub fn to_json(&self) -> Vec<u8> {
        let mut text = format!("{:#}", serde_json::json!(self)).into_bytes();
        text.push(b'\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_key_is_documented_for_the_authors_of_programs() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/getting-started.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, section) = page.split_once("### What the program finds\n").unwrap();
        let (section, _) = section.split_once("\n### ").unwrap();
        let example = json!({
            "version": 1, "network": "blue", "interface": "net1", "type": "memif", "id": 0, "mode": "IP", "secret": "s",
            "role": "client", "socket": "net1.sock", "mac": "02:00:00:00:00:01", "mtu": 1500, "queues": 1,
            "ringSize": 1024, "ips": [{"address": "10.56.217.2/24", "gateway": "10.56.217.1"}],
            "routes": [{"dst": "10.0.0.0/8"}], "dns": {"nameservers": ["10.0.0.1"]},
        });
        let description: Description = serde_json::from_value(example.clone()).unwrap();
        let written = serde_json::to_value(&description).unwrap();
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&written), keys(&example), "the example has each key");
        let others = ["abstractSocket", "address", "gateway", "packedRings"];
        for key in keys(&written).iter().map(String::as_str).chain(others) {
            assert!(section.contains(&format!("`{key}`")), "docs/getting-started.md does not have the key {key}");
        }
    }
}
