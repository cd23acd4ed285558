//! kubelet's APIs of plugins for resource claims: their messages as far as they are used here, and
//! the services that `build.rs` generates. Formats: `pluginregistration/v1`, `dra/v1` and
//! `dra-health/v1alpha1` in <https://github.com/kubernetes/kubelet/tree/master/pkg/apis>.

use std::collections::HashMap;

/// The type of plugin that kubelet is told.
pub const PLUGIN_TYPE: &str = "DRAPlugin";
/// What is served, as kubelet names it.
pub const VERSIONS: [&str; 2] = ["v1.DRAPlugin", "v1alpha1.DRAResourceHealth"];

/// Asks who registers.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct InfoRequest {}

/// Who registers.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PluginInfo {
    /// [`PLUGIN_TYPE`].
    #[prost(string, tag = "1")]
    pub plugin_type: String,
    /// The name of the driver.
    #[prost(string, tag = "2")]
    pub name: String,
    /// The socket of the services.
    #[prost(string, tag = "3")]
    pub endpoint: String,
    /// [`VERSIONS`].
    #[prost(string, repeated, tag = "4")]
    pub supported_versions: Vec<String>,
}

/// Whether kubelet accepted the registration.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RegistrationStatus {
    /// Whether it did.
    #[prost(bool, tag = "1")]
    pub plugin_registered: bool,
    /// Why not.
    #[prost(string, tag = "2")]
    pub error: String,
}

/// Nothing.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RegistrationStatusResponse {}

/// A claim.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Claim {
    /// Its namespace.
    #[prost(string, tag = "1")]
    pub namespace: String,
    /// Its uid.
    #[prost(string, tag = "2")]
    pub uid: String,
    /// Its name.
    #[prost(string, tag = "3")]
    pub name: String,
}

/// A pod with these claims is about to start.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodePrepareResourcesRequest {
    /// All of its claims of this driver.
    #[prost(message, repeated, tag = "1")]
    pub claims: Vec<Claim>,
}

/// What became of each claim.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodePrepareResourcesResponse {
    /// By uid.
    #[prost(map = "string, message", tag = "1")]
    pub claims: HashMap<String, NodePrepareResourceResponse>,
}

/// What became of one claim.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodePrepareResourceResponse {
    /// Its devices.
    #[prost(message, repeated, tag = "1")]
    pub devices: Vec<Device>,
    /// Why it is not prepared.
    #[prost(string, tag = "2")]
    pub error: String,
}

/// A prepared device.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Device {
    /// The requests of the claim that it is for.
    #[prost(string, repeated, tag = "1")]
    pub request_names: Vec<String>,
    /// Its pool.
    #[prost(string, tag = "2")]
    pub pool_name: String,
    /// Its name.
    #[prost(string, tag = "3")]
    pub device_name: String,
    /// What the container runtime adds to containers.
    #[prost(string, repeated, tag = "4")]
    pub cdi_device_ids: Vec<String>,
    /// Which share of the device it is.
    #[prost(string, optional, tag = "5")]
    pub share_id: Option<String>,
}

/// The last pod with these claims ended.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeUnprepareResourcesRequest {
    /// The claims, which may be deleted.
    #[prost(message, repeated, tag = "1")]
    pub claims: Vec<Claim>,
}

/// What became of each claim.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeUnprepareResourcesResponse {
    /// By uid.
    #[prost(map = "string, message", tag = "1")]
    pub claims: HashMap<String, NodeUnprepareResourceResponse>,
}

/// What became of one claim.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeUnprepareResourceResponse {
    /// Why it is still prepared.
    #[prost(string, tag = "1")]
    pub error: String,
}

/// Asks for the health of devices.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeWatchResourcesRequest {}

/// The health of all devices.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeWatchResourcesResponse {
    /// Of each.
    #[prost(message, repeated, tag = "1")]
    pub devices: Vec<DeviceHealth>,
}

/// Which device.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DeviceIdentifier {
    /// Its pool.
    #[prost(string, tag = "1")]
    pub pool_name: String,
    /// Its name.
    #[prost(string, tag = "2")]
    pub device_name: String,
}

/// The health of a device.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DeviceHealth {
    /// Which.
    #[prost(message, optional, tag = "1")]
    pub device: Option<DeviceIdentifier>,
    /// How it is.
    #[prost(enumeration = "HealthStatus", tag = "2")]
    pub health: i32,
    /// When that was known, in seconds since 1970.
    #[prost(int64, tag = "3")]
    pub last_updated_time: i64,
    /// After how many seconds without an update it is unknown again.
    #[prost(int64, tag = "4")]
    pub health_check_timeout_seconds: i64,
    /// Why.
    #[prost(string, tag = "5")]
    pub message: String,
}

/// How a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum HealthStatus {
    /// Not known.
    Unknown = 0,
    /// It works.
    Healthy = 1,
    /// It does not.
    Unhealthy = 2,
}

/// What kubelet calls.
#[allow(missing_docs, unused_qualifications, clippy::all, clippy::too_many_lines, reason = "generated by tonic-build")]
pub mod services {
    include!(concat!(env!("OUT_DIR"), "/pluginregistration.Registration.rs"));
    include!(concat!(env!("OUT_DIR"), "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin.rs"));
    include!(concat!(env!("OUT_DIR"), "/v1alpha1.DRAResourceHealth.rs"));
}
