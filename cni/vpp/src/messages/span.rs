//! SPAN: copies of the frames of one interface, sent to another (`span.api`).
//!
//! Seen with VPP 26.06:
//! - Settings belong to indexes and not to interfaces. When the destination is deleted, the next
//!   interface that is created gets its index and with it the copies. When the source is deleted,
//!   the next one with its index is not mirrored, although VPP reports it, until it is disabled
//!   first.
//! - Nothing is checked: indexes that no interface has are accepted, and the same request twice.
//! - State 0 with [`NO_INTERFACE`](super::NO_INTERFACE) as destination disables all copies of a
//!   source.

use super::macros::{dumps, requests};
use crate::wire::open_enum;

open_enum! {
    /// The frames of the source that are copied. The direction is VPP's.
    SpanState: u32 {
        Disabled = 0,
        /// Frames that VPP receives.
        Rx = 1,
        /// Frames that VPP sends.
        Tx = 2,
        RxTx = 3,
    }
}

requests! { SPAN_REQUESTS, None;
    /// Starts or stops mirroring.
    SwInterfaceSpanEnableDisable("sw_interface_span_enable_disable", "23ddd96b") {
        sw_if_index_from: u32,
        sw_if_index_to: u32,
        state: SpanState,
        /// Whether frames are copied in bridge domains instead of at the device.
        is_l2: bool,
    } => SwInterfaceSpanEnableDisableReply("e8d4e804") {}
}

dumps! { SPAN_DUMPS, None;
    /// Reads the mirrored interfaces.
    SwInterfaceSpanDump("sw_interface_span_dump", "d6cf0c3d") {
        /// Whether to read copies in bridge domains instead of at devices.
        is_l2: bool,
    } => SwInterfaceSpanDetails("sw_interface_span_details", "8a20e79f") {
        sw_if_index_from: u32,
        sw_if_index_to: u32,
        state: SpanState,
        is_l2: bool,
    }
}
