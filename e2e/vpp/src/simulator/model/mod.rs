//! The state of a VPP, without sockets and messages.

pub(crate) mod access_lists;
pub(crate) mod bridge_domains;
pub(crate) mod classifier;
pub(crate) mod device;
pub(crate) mod features;
pub(crate) mod interface;
pub(crate) mod memif_address;
pub(crate) mod memif_sockets;
pub(crate) mod neighbours;
pub(crate) mod policers;
pub(crate) mod pool;
pub(crate) mod random;
pub(crate) mod routing;
pub(crate) mod state;
