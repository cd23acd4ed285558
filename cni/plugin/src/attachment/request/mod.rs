//! What is requested for an interface: [`pod_request`] by the pod, [`static_ips`] by
//! `spec.attachments` of the network, [`device_allocation`] by the pod's resource limits (reads
//! kubelet's checkpoint); [`mac`] generates a MAC address. [`resolved`] is the result of all of
//! them. The configuration of an IPAM plugin gets the addresses from [`static_ips`] and
//! [`host_local`], and the network's gateway from [`gateway`].

pub mod device_allocation;
pub mod gateway;
pub mod host_local;
pub mod mac;
pub mod pod_request;
pub mod resolved;
pub mod static_ips;
