//! What is requested for an interface, and by whom: [`pod_request`] by the pod, [`static_ips`] by
//! `spec.attachments` of the network, [`device_allocation`] by the pod's resource limits (reads
//! kubelet's checkpoint), and [`mac`] if no MAC address is requested. [`host_local`] adapts its
//! ranges, and [`gateway`] adds that of the network.

pub mod device_allocation;
pub mod gateway;
pub mod host_local;
pub mod mac;
pub mod pod_request;
pub mod static_ips;
