//! The record of an attachment in the journal: whose it is, what it has and how far it got.

use super::id::{AttachmentId, InterfaceName, PodUid};
use super::legacy_status::LegacyInterfaceStatus;
use crate::model::memif::MemifSocketIds;
use crate::model::port::AttachedPort;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use usnet_crds::{EngineKind, NetworkName, RateLimit};

/// What the name of the configuration begins with of an interface that a `UserspaceAttachment`
/// requested. Its uid follows.
const OBJECT_CONFIGURATION: &str = "usnet-attachment-";

/// The pod of an attachment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pod {
    pub namespace: String,
    pub name: String,
    pub uid: PodUid,
}

impl fmt::Display for Pod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// The progress of an attachment. It is recorded before the step that it names is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// ADD has started; the engine may or may not have the port.
    Attaching,
    /// ADD has answered; the engine must have the port.
    Attached,
    /// DEL has started; the engine must not have the port.
    Detaching,
    /// DEL has released everything but the port, because the engine was not reachable. The agent
    /// deletes the port and then the record.
    Detached,
}

/// One attachment as the journal holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The layout of this record; [`Record::VERSION`] when written by this release.
    pub version: u32,
    pub id: AttachmentId,
    pub progress: Progress,
    /// The network that it joins.
    pub network: NetworkName,
    /// The engine that has its port.
    pub engine: EngineKind,
    /// The engine's control socket on the node.
    pub engine_socket: PathBuf,
    /// The memif socket ids that usnet owns, if the engine is VPP.
    #[serde(default)]
    pub memif_socket_ids: MemifSocketIds,
    pub port: AttachedPort,
    pub pod: Pod,
    /// The pod's network namespace, as CNI gave it.
    pub network_namespace: PathBuf,
    /// The inode of that namespace, which distinguishes it from a later one at that path; `None`
    /// if there was none at the ADD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_namespace_inode: Option<u64>,
    /// The pod's directory as seen by the engine.
    pub pod_directory: PathBuf,
    /// The host directory that backs the pod's directory; `None` if it is the pod's volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory_source: Option<PathBuf>,
    /// The interface's MAC address, `02:…`.
    pub mac: String,
    /// The addresses of the pod with prefix lengths, as IPAM gave them.
    pub addresses: Vec<Address>,
    /// Addresses, routes and DNS as ADD returned them, for an ADD that is repeated; `None` before
    /// ADD has answered, and if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<serde_json::Value>,
    /// The name of the network configuration of the ADD, as used by the runtime for GC; `None` in
    /// records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration_name: Option<String>,
    /// The interface of the runtime's call, if it is another one: a call for `eth0` attaches all
    /// networks of the pod's annotation.
    #[serde(default, rename = "calledFor", skip_serializing_if = "Option::is_none")]
    pub invoked_ifname: Option<InterfaceName>,
    /// The rate limits that the pod requested.
    #[serde(default, rename = "askedRateLimit", skip_serializing_if = "RateLimit::is_none")]
    pub requested_rate_limit: RateLimit,
    /// The configuration of the IPAM plugin's ADD, which its DEL needs again; `None` if there are
    /// no addresses or they were released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipam: Option<serde_json::Value>,
    /// Whether the pod's directory has the socket and no descriptions, as with Intel's plugin:
    /// programs take any file there for the socket.
    #[serde(default, skip_serializing_if = "is_false")]
    pub socket_only: bool,
    /// The index of its interface in VPP when ADD created it. It is another's by now if VPP was
    /// restarted or another client deleted the interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface_index: Option<u32>,
    /// The interface status for applications of the legacy userspace CNI, once attached; `None` if
    /// the NAD is not in that format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration_data: Option<LegacyInterfaceStatus>,
    /// Whether the legacy userspace CNI attached it. Its port may have no ownership tag yet, and
    /// its files are where that plugin put them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub taken_over: bool,
}

/// Omits what is rarely set.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// An address of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    pub ip: IpAddr,
    /// Length of its prefix, in bits.
    pub prefix: u8,
}

/// Whether the IPAM plugin of a configuration is CNI's `dhcp`, which sends requests over the pod's
/// interface: the interface has to exist in the kernel.
pub fn needs_interface(configuration: &serde_json::Value) -> bool {
    configuration.pointer("/ipam/type").and_then(serde_json::Value::as_str) == Some("dhcp")
}

impl Record {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;

    /// The name of the configuration for a `UserspaceAttachment` with this uid. No runtime has one
    /// of this name, and none collects such attachments as garbage.
    pub fn configuration_of_object(uid: &str) -> String {
        format!("{OBJECT_CONFIGURATION}{uid}")
    }

    /// The uid of the `UserspaceAttachment` that requested it, if one did.
    pub fn object(&self) -> Option<&str> {
        self.configuration_name.as_deref()?.strip_prefix(OBJECT_CONFIGURATION)
    }

    /// The attachment that the runtime knows of.
    pub fn call(&self) -> AttachmentId {
        let interface = self.invoked_ifname.as_ref().unwrap_or(&self.id.interface);
        AttachmentId { container: self.id.container.clone(), interface: interface.clone() }
    }
}
