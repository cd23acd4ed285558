//! The handlers of the messages.

mod acl;
mod af_packet;
pub(crate) mod all;
mod bridge_domain;
mod classify;
pub(crate) mod dispatch;
mod features;
mod interface;
mod ip;
mod ip_neighbor;
mod memif;
mod memif_messages;
mod policer;
mod queues;
mod route;
mod span;
mod sub_interface;
mod system;
mod tap;
mod vhost_user;
mod vxlan;
