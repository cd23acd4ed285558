//! The objects that ADD creates and DEL removes.

mod add_del;
mod claims;
mod devices;
mod dhcp;
mod gateways;
mod guards;
mod hot_plug;
mod ipam;
mod requested;
mod routed;
mod server_sockets;
mod static_ips;
mod tap;
mod veth;
mod veth_by_af_xdp;
