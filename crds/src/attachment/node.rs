//! The attachments of one node, in its `UserspaceNodeState`: what the controller requests, and what
//! the agent reports. Only interfaces that a `UserspaceAttachment` requests are in it.

use super::spec::INTERFACE_MAX;
use crate::names::{NAMESPACE_NAME_MAX, NETWORK_NAME_MAX, POD_NAME_MAX};
use crate::types::limits::{CIDR_MAX, IPS_MAX, MESSAGE_MAX, REASON_MAX, REASON_PATTERN};
use crate::{MacAddress, NamespaceName, NetworkName, PodName, RateLimit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most attachments that are requested of one node.
pub const REQUESTED_MAX: usize = 512;
/// Most attachments that a node reports: also some that it is about to detach.
pub const REPORTED_MAX: usize = 1024;
/// Longest uid of an object, in characters.
const UID_MAX: usize = 64;
/// Longest socket, in characters: the name of a file, or of an abstract socket.
const SOCKET_MAX: usize = 108;

/// An interface that a node should attach.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RequestedAttachment {
    /// The uid of the UserspaceAttachment.
    #[schemars(length(max = UID_MAX))]
    pub uid: String,
    /// The namespace of the UserspaceAttachment and of the pod.
    #[schemars(with = "String", length(max = NAMESPACE_NAME_MAX))]
    pub namespace: NamespaceName,
    /// The name of the UserspaceAttachment.
    #[schemars(length(max = POD_NAME_MAX))]
    pub name: String,
    /// The name of the pod.
    #[schemars(with = "String", length(max = POD_NAME_MAX))]
    pub pod: PodName,
    /// The uid of the pod.
    #[serde(rename = "podUID")]
    #[schemars(length(max = UID_MAX))]
    pub pod_uid: String,
    /// The name of the UserspaceNetwork.
    #[schemars(with = "String", length(max = NETWORK_NAME_MAX))]
    pub network: NetworkName,
    /// The name of the interface in the pod.
    #[schemars(length(max = INTERFACE_MAX))]
    pub interface: String,
    /// The MAC address of the interface, if one is requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacAddress>,
    /// The addresses of the interface, if some are requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = IPS_MAX), inner(length(max = CIDR_MAX)))]
    pub ips: Vec<String>,
    /// How much the interface may send and receive.
    #[serde(default, skip_serializing_if = "RateLimit::is_none")]
    pub rate_limit: RateLimit,
}

/// An attachment as the node has it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentReport {
    /// The uid of the UserspaceAttachment.
    #[schemars(length(max = UID_MAX))]
    pub uid: String,
    /// How far the attachment is.
    pub state: AttachmentState,
    /// Why the interface is not attached, in one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = REASON_MAX), regex(pattern = REASON_PATTERN))]
    pub reason: String,
    /// Why the interface is not attached, and what to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = MESSAGE_MAX))]
    pub message: String,
    /// The MAC address of the interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacAddress>,
    /// The addresses of the interface with prefix lengths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = IPS_MAX_REPORTED), inner(length(max = CIDR_MAX)))]
    pub ips: Vec<String>,
    /// The name of the socket of the interface.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = SOCKET_MAX))]
    pub socket: String,
    /// The largest payload of the interface, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65_535))]
    pub mtu: Option<u16>,
}

/// Most addresses of an interface that are reported: IPAM may give more than a pod can request.
pub const IPS_MAX_REPORTED: usize = 8;

/// How far an attachment is on its node.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttachmentState {
    /// The interface is in the pod.
    Attached,
    /// The interface is not attached yet.
    Pending,
    /// The interface cannot be attached, for the reason given; the agent keeps trying.
    Failed,
    /// The interface is no longer requested, and is being detached.
    Detaching,
}
