//! SPAN: copies of the frames of one interface, sent to another (`span.api`).
//!
//! Seen with VPP 26.06:
//! - What is set belongs to indexes and not to interfaces. When the destination is deleted, the
//!   next interface that is created gets its index and with it the copies. When the source is
//!   deleted, the next one with its index is not mirrored, although VPP says so, until it is
//!   disabled first.
//! - Nothing is checked: indexes that no interface has are accepted, and the same request twice.
//! - State 0 with [`NO_INTERFACE`](super::NO_INTERFACE) as destination disables all of a source.

use super::macros::{dumps, requests};
use crate::wire::open_enum;

open_enum! {
    /// Which frames of the source are copied. The direction is VPP's.
    SpanState: u32 {
        /// None.
        Disabled = 0,
        /// What VPP receives.
        Rx = 1,
        /// What VPP sends.
        Tx = 2,
        /// Both.
        RxTx = 3,
    }
}

requests! { SPAN_REQUESTS, None;
    /// Begins or ends to copy.
    SwInterfaceSpanEnableDisable("sw_interface_span_enable_disable", "23ddd96b") {
        sw_if_index_from: u32,
        sw_if_index_to: u32,
        state: SpanState,
        /// Whether frames are copied in bridge domains instead of at the device.
        is_l2: bool,
    } => SwInterfaceSpanEnableDisableReply("e8d4e804") {}
}

dumps! { SPAN_DUMPS, None;
    /// Reads what is copied.
    SwInterfaceSpanDump("sw_interface_span_dump", "d6cf0c3d") {
        /// Of bridge domains instead of devices.
        is_l2: bool,
    } => SwInterfaceSpanDetails("sw_interface_span_details", "8a20e79f") {
        sw_if_index_from: u32,
        sw_if_index_to: u32,
        state: SpanState,
        is_l2: bool,
    }
}
