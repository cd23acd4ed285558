//! What a pod's program is told of its interface: the file `<interface>.json` in the pod's `usnet` volume.
//!
//! The program listens on the socket of the same folder; the engine connects to it, and connects again when one of them restarts.

use crate::cni::result::{AssignedAddress, Route};
use crate::mac::MacAddress;
use serde::{Deserialize, Serialize};
use usnet_crds::{Mtu, NetworkName, Queues};
use usnet_dataplane::attachment::InterfaceName;

/// What kind of interface it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceType {
    /// vhost-user, as virtio devices in userspace speak it.
    VhostUser,
}

/// What the pod's program does with the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It makes the socket and listens; the engine connects.
    Server,
}

/// What a pod's program is told of its interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The layout of this file; [`Description::VERSION`] when written by this release.
    pub version: u32,
    /// The network.
    pub network: NetworkName,
    /// The interface's name.
    pub interface: InterfaceName,
    /// What kind of interface it is.
    #[serde(rename = "type")]
    pub interface_type: InterfaceType,
    /// What the program does with the socket.
    pub role: Role,
    /// The socket: the name of a file in the folder that holds this description, wherever the pod mounted it.
    pub socket: String,
    /// The address that the program should give its interface.
    pub mac: MacAddress,
    /// Largest payload, in bytes.
    pub mtu: Mtu,
    /// Queue pairs that the engine serves.
    pub queues: Queues,
    /// Addresses with prefix lengths, and their gateways.
    pub ips: Vec<AssignedAddress>,
    /// Routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

impl Description {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;

    /// The name of an interface's description.
    pub fn file_name(interface: &InterfaceName) -> String {
        format!("{interface}.json")
    }

    /// The name of an interface's socket.
    pub fn socket_name(interface: &InterfaceName) -> String {
        format!("{interface}.sock")
    }

    /// The content of the file.
    pub fn to_json(&self) -> Vec<u8> {
        let mut text = format!("{:#}", serde_json::json!(self)).into_bytes();
        text.push(b'\n');
        text
    }
}
