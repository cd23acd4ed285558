//! The common parts of the tests: commands, pods, scenes, and the parts of a cluster.

pub(crate) mod api;
pub(crate) mod capture;
pub(crate) mod cluster;
pub(crate) mod collector;
pub(crate) mod control_plane;
pub(crate) mod direct_cni;
pub(crate) mod faults;
pub(crate) mod images;
pub(crate) mod kubectl_usnet;
pub(crate) mod node_file;
pub(crate) mod pod_endpoint;
pub(crate) mod pods;
pub(crate) mod proxy;
pub(crate) mod scene;
pub(crate) mod station;
pub(crate) mod stream;
pub(crate) mod testpmd;
pub(crate) mod tools;
pub(crate) mod uplinks;
pub(crate) mod vpp;
