//! Rate limits in Open vSwitch.
//!
//! What a pod sends enters the switch: `ingress_policing_rate` and `ingress_policing_burst` of its
//! interface, in kbit/s and kilobits. What it receives leaves the switch: a row of the table `QoS`
//! of type `egress-policer`, the only one that DPDK ports support, with `cir` in bytes per second
//! and `cbs` in bytes. (ovs-vswitchd.conf.db(5); `linux-htb` and the others are accepted for such a
//! port and have no effect.)
//!
//! For a kernel device it is the reverse: the type `linux-htb` with `max-rate` in bits per second
//! works, and policing does not, because the kernel passes frames to packet sockets, as used by the
//! userspace datapath, before it polices. The API rejects such limits.
//!
//! Rows of `QoS` are not deleted with their port. Those of usnet have the ownership tag of their
//! attachment and are deleted by it, whether a port still refers to them or not.

mod rate_limit;
mod shaper;

pub(super) use rate_limit::{delete, has_qos, observe, replace, with_policing};
pub(super) use shaper::Shaper;
