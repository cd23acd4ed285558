//! Shared memory interfaces (`memif.api`).
//!
//! Socket ids (seen with VPP 26.06, as everything below):
//! - Adding one checks nothing. A missing folder, a character that is not allowed, a name of more
//!   than 106 bytes (105 after `abstract:`) or an occupied path: all of them are refused with the
//!   first memif (-14), and from then on VPP's reference count of the socket id is wrong. The next
//!   memif on it is created and listens nowhere; a second one with the same id aborts VPP
//!   (SIGABRT), and deleting both crashes it (SIGSEGV). Delete the socket id and add it again
//!   first.
//! - A socket id is for masters or for slaves (-68), and each memif id on it is used once (-68).
//!   Socket id 0 is VPP's own.
//! - The dump shows names truncated to 107 bytes: a longer name is never found again.
//! - `abstract:NAME,netns_name=FILE` listens in the network namespace of the file, and is refused
//!   if the name is in use there. `@NAME` is not abstract: VPP takes it for the name of a file, and
//!   refuses it. If VPP cannot parse the text after `netns_name=`, it stays in that network
//!   namespace: check the characters before. It never closes the file that it opened: one
//!   descriptor for each abstract socket, until VPP ends.
//!
//! Interfaces:
//! - The `sw_if_index` of a refusal has no meaning. The refused interface existed for a moment: its
//!   event may arrive.
//! - A socket file stays when its last memif is deleted. A stale one is replaced; one on which a
//!   program listens is not, neither is a file of another kind or a symbolic link.
//! - Ring and buffer size cannot be read back before a peer is connected; the numbers of queues and
//!   the secret never.
//! - [`MemifMode::PuntInject`] and unknown modes end VPP.
//! - A peer that connects, reads the greeting and closes, or sends an invalid message, crashes VPP
//!   (SIGSEGV): never probe a memif socket by connecting to it.

use super::IfStatusFlags;
use super::macros::{dumps, requests};
use crate::wire::{FixedText, Secret, Text, open_enum};

const PLUGIN: &str = "memif_plugin.so";

open_enum! {
    /// The role of a memif's end.
    MemifRole {
        /// The server, which listens at the socket.
        Master = 0,
        /// The client, which connects and owns the shared memory.
        Slave = 1,
    }
}

open_enum! {
    MemifMode {
        Ethernet = 0,
        Ip = 1,
        /// Packets to and from VPP itself.
        PuntInject = 2,
    }
}

requests! { MEMIF_REQUESTS, Some(PLUGIN);
    /// Works like [`MemifSocketFilenameAddDelV2`] with a bounded path. It is for releases before
    /// 23.06.
    MemifSocketFilenameAddDel("memif_socket_filename_add_del", "a2ce1a10") {
        is_add: bool,
        socket_id: u32,
        socket_filename: FixedText<108>,
    } => MemifSocketFilenameAddDelReply("e8d4e804") {}

    /// Adds an id for a socket file, or deletes the id. The file is not created yet.
    MemifSocketFilenameAddDelV2("memif_socket_filename_add_del_v2", "34223bdf") {
        is_add: bool,
        /// `u32::MAX` lets VPP choose the id. 0 is VPP's own and cannot be changed.
        socket_id: u32,
        /// At most 106 bytes of `[A-Za-z0-9_./-]`, or `abstract:NAME[,netns_name=NETNS]`. VPP does
        /// not check it here.
        socket_filename: Text,
    } => MemifSocketFilenameAddDelV2Reply("9f29bdb9") {
        socket_id: u32,
    }

    /// Works like [`MemifCreateV2`] without `use_dma`. It is for releases before 23.06.
    MemifCreate("memif_create", "b1b25061") {
        role: MemifRole,
        mode: MemifMode,
        rx_queues: u8,
        tx_queues: u8,
        id: u32,
        socket_id: u32,
        ring_size: u32,
        buffer_size: u16,
        no_zero_copy: bool,
        hw_addr: [u8; 6],
        secret: Secret,
    } => MemifCreateReply("5383d31f") {
        /// The index has no meaning in a refusal.
        sw_if_index: u32,
    }

    /// Creates a memif. A master's socket file is created with the first memif on it.
    MemifCreateV2("memif_create_v2", "8c7de5f7") {
        role: MemifRole,
        mode: MemifMode,
        /// The slave decides the number of queues. 0 means 1.
        rx_queues: u8,
        /// The slave decides the number of queues. 0 means 1.
        tx_queues: u8,
        /// Both ends have the same id, which is unique on the socket.
        id: u32,
        socket_id: u32,
        /// A power of two; 0 means 1024. VPP has no upper limit.
        ring_size: u32,
        /// The size in bytes; 0 means 2048.
        buffer_size: u16,
        no_zero_copy: bool,
        use_dma: bool,
        /// If the address is zero, VPP chooses one.
        hw_addr: [u8; 6],
        secret: Secret,
    } => MemifCreateV2Reply("5383d31f") {
        /// The index has no meaning in a refusal.
        sw_if_index: u32,
    }

    /// Deletes a memif. The socket file stays.
    MemifDelete("memif_delete", "f9e6675e") {
        sw_if_index: u32,
    } => MemifDeleteReply("e8d4e804") {}
}

dumps! { MEMIF_DUMPS, Some(PLUGIN);
    MemifDump("memif_dump", "51077d14") {} => MemifDetails("memif_details", "da34feb9") {
        sw_if_index: u32,
        hw_addr: [u8; 6],
        id: u32,
        role: MemifRole,
        mode: MemifMode,
        zero_copy: bool,
        socket_id: u32,
        /// The configured value is reported only while connected.
        ring_size: u32,
        /// The configured value is reported only while connected.
        buffer_size: u16,
        flags: IfStatusFlags,
        if_name: FixedText<64>,
    }

    /// Reads the ids of all socket files.
    MemifSocketFilenameDump("memif_socket_filename_dump", "51077d14") {} =>
    MemifSocketFilenameDetails("memif_socket_filename_details", "7ff326f7") {
        socket_id: u32,
        socket_filename: FixedText<108>,
    }
}
