//! Kubernetes' `ResourceSlice`, with only the fields that are written. No IO.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ClusterResourceScope;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use usnet_common::api::device_api::device_api_kind;

/// A part of the devices of one node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ResourceSlice {
    pub(super) metadata: ObjectMeta,
    pub(super) spec: SliceSpec,
}

device_api_kind!(ResourceSlice, "resourceslices", ClusterResourceScope);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SliceSpec {
    pub(super) driver: String,
    pub(super) node_name: String,
    pub(super) pool: Pool,
    pub(super) devices: Vec<Device>,
}

/// All slices of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Pool {
    pub(super) name: String,
    /// Grows with each change: Kubernetes ignores slices of an older generation.
    pub(super) generation: i64,
    pub(super) resource_slice_count: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Device {
    pub(super) name: String,
    pub(super) attributes: BTreeMap<String, Attribute>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) capacity: BTreeMap<String, Capacity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allow_multiple_allocations: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) taints: Vec<Taint>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Attribute {
    String(String),
    Int(i64),
}

/// The capacity of a device, which claims share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Capacity {
    pub(super) value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_policy: Option<RequestPolicy>,
}

/// How much of the capacity one claim gets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RequestPolicy {
    pub(super) default: String,
    pub(super) valid_values: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Taint {
    pub(super) key: String,
    pub(super) effect: String,
}
