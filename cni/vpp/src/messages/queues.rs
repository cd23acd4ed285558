//! The queues of interfaces: who reads them and how, and which threads send by them
//! (`interface.api`).
//!
//! Seen with VPP 26.06:
//! - A memif or vhost-user interface has queues only while its program is connected, and loses with
//!   them what was set here. A vhost-user interface is up with the first pair; each further queue
//!   changes the placement of all.
//! - VPP's own placement gives each thread one queue to send by. A thread with several chooses by a
//!   hash of the flow, which is that of `hash-eth-l34` unless another client changed it by the CLI.
//! - Unlike other details, those of queues have the index of the client, which is 0.
//! - [`SwInterfaceSetRxMode`] is refused with -9 for a queue that is not there, and for a mode that
//!   the device does not have; [`SwInterfaceSetTxPlacement`] is refused with -125, or -7 for a
//!   thread that is not there.

use super::macros::{messages, requests};
use super::message::{Dump, Get, Reply};
use crate::wire::open_enum;

open_enum! {
    /// How VPP reads a queue.
    RxMode {
        Unknown = 0,
        Polling = 1,
        Interrupt = 2,
        Adaptive = 3,
        Default = 4,
    }
}

requests! { QUEUE_REQUESTS, None;
    SwInterfaceSetRxMode("sw_interface_set_rx_mode", "b04d1cfe") {
        sw_if_index: u32,
        /// Whether only the queue `queue_id` is meant, and not all.
        queue_id_valid: bool,
        queue_id: u32,
        mode: RxMode,
    } => SwInterfaceSetRxModeReply("e8d4e804") {}

    /// Sets the threads that send by a queue; thread 0 is VPP's main thread.
    SwInterfaceSetTxPlacement("sw_interface_set_tx_placement", "4e0cd5ff") {
        sw_if_index: u32,
        queue_id: u32,
        threads: Vec<u32>,
    } => SwInterfaceSetTxPlacementReply("e8d4e804") {}
}

messages! { QUEUE_MESSAGES, None;
    /// Reads the queues that VPP receives by.
    ClientAndContext SwInterfaceRxPlacementDump("sw_interface_rx_placement_dump", "f9e6675e") {
        /// [`NO_INTERFACE`](super::NO_INTERFACE) means all.
        sw_if_index: u32,
    }

    /// One of the answers to [`SwInterfaceRxPlacementDump`].
    ClientAndContext SwInterfaceRxPlacementDetails("sw_interface_rx_placement_details", "9e44a7ce") {
        sw_if_index: u32,
        queue_id: u32,
        /// 0 means the main thread.
        worker_id: u32,
        mode: RxMode,
    }

    /// Reads the queues that VPP sends by. It is refused with -6 if no interface has any, and with
    /// -7 if this one has none. With -165 VPP was busy, and more queues follow from the cursor of
    /// the reply on.
    ClientAndContext SwInterfaceTxPlacementGet("sw_interface_tx_placement_get", "47250981") {
        cursor: u32,
        /// [`NO_INTERFACE`](super::NO_INTERFACE) means all.
        sw_if_index: u32,
    }

    /// One of the answers to [`SwInterfaceTxPlacementGet`].
    ClientAndContext SwInterfaceTxPlacementDetails("sw_interface_tx_placement_details", "00381a2e") {
        sw_if_index: u32,
        queue_id: u32,
        /// Whether several threads send by it.
        shared: u8,
        threads: Vec<u32>,
    }

    /// The last answer to [`SwInterfaceTxPlacementGet`].
    Context SwInterfaceTxPlacementGetReply("sw_interface_tx_placement_get_reply", "53b48f5d") {
        /// 0, or the code of a refusal.
        retval: i32,
        cursor: u32,
    }
}

impl Dump for SwInterfaceRxPlacementDump {
    type Details = SwInterfaceRxPlacementDetails;
}

impl Get for SwInterfaceTxPlacementGet {
    type Details = SwInterfaceTxPlacementDetails;
    type Reply = SwInterfaceTxPlacementGetReply;
}

impl Reply for SwInterfaceTxPlacementGetReply {
    fn retval(&self) -> i32 {
        self.retval
    }
}
