//! The interface status for applications of the legacy userspace CNI, in the format of the legacy
//! plugin (`pkg/types`, `ConfigurationData`), including the order of keys: applications expect
//! `containerId` first.

use serde::{Deserialize, Serialize};
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};
use std::net::IpAddr;

/// One interface of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LegacyInterfaceStatus {
    pub(crate) container_id: String,
    pub(crate) if_name: String,
    pub(crate) name: String,
    pub(crate) config: End,
    pub(crate) ip_result: IpResult,
}

/// The pod's end of the port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct End {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) engine: String,
    #[serde(default)]
    pub(crate) iftype: String,
    #[serde(default)]
    pub(crate) net_type: String,
    #[serde(default)]
    pub(crate) memif: MemifEnd,
    #[serde(default)]
    pub(crate) vhost: VhostEnd,
    #[serde(default)]
    pub(crate) bridge: BridgeEnd,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemifEnd {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) role: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) mode: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) socketfile: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VhostEnd {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) mode: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) group: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) socketfile: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BridgeEnd {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) bridge_name: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) bridge_id: i64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) vlan_id: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IpResult {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) cni_version: String,
    #[serde(default)]
    pub(crate) interfaces: Vec<Interface>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ips: Vec<Ip>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) routes: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dns: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Interface {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) sandbox: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ip {
    /// `4` or `6`. Newer CNI results have none, and applications skip addresses without it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) version: String,
    pub(crate) address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gateway: Option<IpAddr>,
}

impl LegacyInterfaceStatus {
    pub fn interface(&self) -> &str {
        &self.if_name
    }

    /// The format of the annotation, as written by the legacy plugin.
    pub fn to_annotation(&self) -> String {
        let mut text = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b"    "));
        // Writing text and numbers to memory does not fail.
        let _written = self.serialize(&mut serializer);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The content of the file, which always has `dns`.
    pub fn to_file(&self) -> Vec<u8> {
        let mut whole = self.clone();
        whole.ip_result.dns.get_or_insert_with(|| json!({}));
        serde_json::to_vec(&whole).unwrap_or_default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}
