//! Validated newtypes: names, numbers, addresses. Each is checked once, on input, and has its
//! limits as constants, which the CRD's schema and CEL rules use as well.

pub mod address;
pub mod address_pair;
pub mod anti_spoofing;
pub mod bridge_domain;
pub mod device;
pub mod ip_family;
pub mod limits;
pub mod mac;
pub mod names;
pub mod nic;
pub mod number;
pub mod pod_names;
pub mod port_type;
pub mod rate;
pub mod vlan;
pub mod vlan_ranges;
pub mod vxlan;

#[cfg(feature = "api")]
mod schema;
