//! vhost-user interfaces (`vhost_user.api`).

use super::macros::{dumps, requests};
use crate::wire::FixedText;

/// The plugin that has these messages.
const PLUGIN: &str = "vhost_plugin.so";

requests! { VHOST_REQUESTS, Some(PLUGIN);
    /// Creates a vhost-user interface.
    CreateVhostUserIfV2("create_vhost_user_if_v2", "dba1cc1d") {
        /// Whether VPP listens at the socket; otherwise it connects, again and again.
        is_server: bool,
        /// At most 107 bytes: VPP accepts longer ones and silently truncates them.
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

    /// Removes a vhost-user interface, and the socket file where VPP listened.
    DeleteVhostUserIf("delete_vhost_user_if", "f9e6675e") {
        sw_if_index: u32,
    } => DeleteVhostUserIfReply("e8d4e804") {}
}

dumps! { VHOST_DUMPS, Some(PLUGIN);
    /// Reads vhost-user interfaces.
    SwInterfaceVhostUserDump("sw_interface_vhost_user_dump", "f9e6675e") {
        /// [`NO_INTERFACE`](super::NO_INTERFACE) for all.
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
