//! vhost-user interfaces (`vhost_user.api`).
//!
//! Seen with VPP 26.06:
//! - As server VPP first deletes whatever is at the path, even a file, or a socket on which another
//!   program listens; only a folder is refused (-12). The socket file is deleted with its
//!   interface.
//! - A path of more than 107 bytes is truncated for listening, but not when the file is deleted.
//! - A path is used once (-79, with the index of the interface that uses it). As client VPP creates
//!   the interface whatever is at the path, and tries to connect every 3 s; `sock_errno` in the
//!   details tells why it is not connected.
//! - The tag is part of the message that creates the interface, so that no interface exists without
//!   one.

use super::macros::{dumps, requests};
use crate::wire::FixedText;

const PLUGIN: &str = "vhost_plugin.so";

requests! { VHOST_REQUESTS, Some(PLUGIN);
    CreateVhostUserIfV2("create_vhost_user_if_v2", "dba1cc1d") {
        /// Whether VPP listens on the socket. Otherwise it connects, and tries again every 3 s.
        is_server: bool,
        /// At most 107 bytes: VPP accepts longer paths and silently truncates them.
        sock_filename: FixedText<256>,
        renumber: bool,
        disable_mrg_rxbuf: bool,
        disable_indirect_desc: bool,
        enable_gso: bool,
        enable_packed: bool,
        enable_event_idx: bool,
        custom_dev_instance: u32,
        use_custom_mac: bool,
        mac_address: [u8; 6],
        tag: FixedText<64>,
    } => CreateVhostUserIfV2Reply("5383d31f") {
        sw_if_index: u32,
    }

    /// Deletes a vhost-user interface, and the socket file on which VPP listened.
    DeleteVhostUserIf("delete_vhost_user_if", "f9e6675e") {
        sw_if_index: u32,
    } => DeleteVhostUserIfReply("e8d4e804") {}
}

dumps! { VHOST_DUMPS, Some(PLUGIN);
    SwInterfaceVhostUserDump("sw_interface_vhost_user_dump", "f9e6675e") {
        /// [`NO_INTERFACE`](super::NO_INTERFACE) means all.
        sw_if_index: u32,
    } => SwInterfaceVhostUserDetails("sw_interface_vhost_user_details", "0cee1e53") {
        sw_if_index: u32,
        interface_name: FixedText<64>,
        virtio_net_hdr_sz: u32,
        features_first_32: u32,
        features_last_32: u32,
        is_server: bool,
        sock_filename: FixedText<256>,
        num_regions: u32,
        sock_errno: i32,
    }
}
