//! kubelet's APIs of plugins for resource claims: their messages as far as they are used here, and
//! the services that `build.rs` generates. Formats: `pluginregistration/v1`, `dra/v1` and
//! `dra-health/v1alpha1` in <https://github.com/kubernetes/kubelet/tree/master/pkg/apis>.

use std::collections::HashMap;

/// The type of plugin that registers with kubelet.
pub const PLUGIN_TYPE: &str = "DRAPlugin";
/// The services, by kubelet's names.
pub const VERSIONS: [&str; 2] = ["v1.DRAPlugin", "v1alpha1.DRAResourceHealth"];

/// Asks the plugin for its registration.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct InfoRequest {}

/// The registration of a plugin.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PluginInfo {
    #[prost(string, tag = "1")]
    pub plugin_type: String,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub endpoint: String,
    #[prost(string, repeated, tag = "4")]
    pub supported_versions: Vec<String>,
}

/// Whether kubelet accepted the registration.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RegistrationStatus {
    #[prost(bool, tag = "1")]
    pub plugin_registered: bool,
    #[prost(string, tag = "2")]
    pub error: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RegistrationStatusResponse {}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Claim {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub uid: String,
    #[prost(string, tag = "3")]
    pub name: String,
}

/// Prepares claims for a pod that is about to start.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodePrepareResourcesRequest {
    /// All claims of the pod for this driver.
    #[prost(message, repeated, tag = "1")]
    pub claims: Vec<Claim>,
}

/// The result for each claim.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodePrepareResourcesResponse {
    /// The results by uid of the claim.
    #[prost(map = "string, message", tag = "1")]
    pub claims: HashMap<String, NodePrepareResourceResponse>,
}

/// The result for one claim.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodePrepareResourceResponse {
    #[prost(message, repeated, tag = "1")]
    pub devices: Vec<Device>,
    /// Why the claim is not prepared; empty if it is.
    #[prost(string, tag = "2")]
    pub error: String,
}

/// A prepared device.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Device {
    /// The requests of the claim that the device is for.
    #[prost(string, repeated, tag = "1")]
    pub request_names: Vec<String>,
    #[prost(string, tag = "2")]
    pub pool_name: String,
    #[prost(string, tag = "3")]
    pub device_name: String,
    /// The CDI devices, which the container runtime adds to containers.
    #[prost(string, repeated, tag = "4")]
    pub cdi_device_ids: Vec<String>,
    /// Which share of the device the claim has.
    #[prost(string, optional, tag = "5")]
    pub share_id: Option<String>,
}

/// Unprepares claims after the end of the last pod with them.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeUnprepareResourcesRequest {
    /// The claims. They may be deleted already.
    #[prost(message, repeated, tag = "1")]
    pub claims: Vec<Claim>,
}

/// The result for each claim.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeUnprepareResourcesResponse {
    /// The results by uid of the claim.
    #[prost(map = "string, message", tag = "1")]
    pub claims: HashMap<String, NodeUnprepareResourceResponse>,
}

/// The result for one claim.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeUnprepareResourceResponse {
    /// Why the claim is still prepared; empty if it is not.
    #[prost(string, tag = "1")]
    pub error: String,
}

/// Asks for the health of all devices, and its changes.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeWatchResourcesRequest {}

/// The health of all devices.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeWatchResourcesResponse {
    #[prost(message, repeated, tag = "1")]
    pub devices: Vec<DeviceHealth>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DeviceIdentifier {
    #[prost(string, tag = "1")]
    pub pool_name: String,
    #[prost(string, tag = "2")]
    pub device_name: String,
}

/// The health of a device.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DeviceHealth {
    #[prost(message, optional, tag = "1")]
    pub device: Option<DeviceIdentifier>,
    #[prost(enumeration = "HealthStatus", tag = "2")]
    pub health: i32,
    /// When the health was determined, in seconds since 1970.
    #[prost(int64, tag = "3")]
    pub last_updated_time: i64,
    /// After how many seconds without an update the health is unknown again.
    #[prost(int64, tag = "4")]
    pub health_check_timeout_seconds: i64,
    /// Why the device is not healthy.
    #[prost(string, tag = "5")]
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum HealthStatus {
    Unknown = 0,
    Healthy = 1,
    Unhealthy = 2,
}

#[allow(missing_docs, unused_qualifications, clippy::all, clippy::too_many_lines, reason = "generated by tonic-build")]
pub mod services {
    include!(concat!(env!("OUT_DIR"), "/pluginregistration.Registration.rs"));
    include!(concat!(env!("OUT_DIR"), "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin.rs"));
    include!(concat!(env!("OUT_DIR"), "/v1alpha1.DRAResourceHealth.rs"));
}
