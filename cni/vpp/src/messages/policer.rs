//! Rate limits (`policer.api`). They are a plugin since 26.06; every earlier VPP has these
//! messages.
//!
//! Seen with VPP 26.06:
//! - `policer_input_v2` and `policer_output_v2` are answered under the names of the first versions.
//!   The first versions are here; they identify a policer by its name.
//! - The dump contains neither the index of a policer nor its users.
//!   [`L2FlagsGet`](super::L2FlagsGet) (26.06) tells whether an interface is policed, but not by
//!   which policer.
//! - Adding a name twice is refused (-81). A policer in use can be deleted: the interface continues
//!   with the content of its former slot.
//! - An interface that leaves its bridge domain is not policed any more; the policer stays.
//! - Applying a policer twice counts twice where packets are routed. Removed once, it is still
//!   active, with no policer behind it: remove it before another one is applied.

use super::macros::{dumps, requests};
use crate::wire::{FixedText, open_enum, structure};

const PLUGIN: &str = "policer_plugin.so";

open_enum! {
    /// The unit of a policer's rates.
    PolicerRateType: u8 {
        /// Thousands of bits per second.
        Kbps = 0,
        /// Packets per second.
        Pps = 1,
    }
}

open_enum! {
    /// The algorithm that classifies packets.
    PolicerType: u8 {
        /// One rate, two colours: a packet is within the rate (`conform`) or not (`violate`;
        /// `exceed` is never used).
        OneRateTwoColour = 0,
        /// RFC 2697.
        OneRateThreeColour = 1,
        /// RFC 2698.
        TwoRateThreeColour = 2,
        /// RFC 4115.
        TwoRateThreeColour4115 = 3,
        /// MEF 5, CF1.
        TwoRateThreeColourMef5 = 4,
    }
}

open_enum! {
    /// The treatment of a packet.
    PolicerActionType: u8 {
        Drop = 0,
        Transmit = 1,
        /// The packet is forwarded with another DSCP.
        MarkAndTransmit = 2,
    }
}

structure! {
    /// The treatment of packets of one colour.
    PolicerAction {
        r#type: PolicerActionType,
        /// The value for [`PolicerActionType::MarkAndTransmit`].
        dscp: u8,
    }
}

requests! { POLICER_REQUESTS, Some(PLUGIN);
    /// Adds or deletes a policer by its name. Adding an existing one is refused and does not change
    /// it. One that is attached to interfaces is deleted nevertheless: they keep its values until
    /// another policer is attached.
    PolicerAddDel("policer_add_del", "2b31dd38") {
        is_add: bool,
        name: FixedText<64>,
        /// The rate in kbit/s, or packets per second.
        cir: u32,
        /// The second rate, of types that have two.
        eir: u32,
        /// The burst in bytes.
        cb: u64,
        /// The second burst in bytes, of types that have two.
        eb: u64,
        rate_type: PolicerRateType,
        /// The rounding: 0 to the closest rate that VPP supports, 1 up, 2 down.
        round_type: u8,
        r#type: PolicerType,
        color_aware: bool,
        conform_action: PolicerAction,
        exceed_action: PolicerAction,
        violate_action: PolicerAction,
    } => PolicerAddDelReply("a177cef2") {
        /// The index of the new policer; `u32::MAX` in a refusal and after a removal.
        policer_index: u32,
    }

    /// Attaches a policer to the input of an interface, or detaches it. An interface has one
    /// policer in each direction, which is the last one. In a bridge domain it is detached when the
    /// interface is removed from it.
    ///
    /// Detaching where no interface with such an index ever had a policer crashes VPP.
    PolicerInput("policer_input", "233f0ef5") {
        name: FixedText<64>,
        sw_if_index: u32,
        apply: bool,
    } => PolicerInputReply("e8d4e804") {}

    /// Works like [`PolicerInput`] for output. Before 26.06 it is for routed packets only and has
    /// no effect in a bridge domain.
    PolicerOutput("policer_output", "233f0ef5") {
        name: FixedText<64>,
        sw_if_index: u32,
        apply: bool,
    } => PolicerOutputReply("e8d4e804") {}
}

dumps! { POLICER_DUMPS, Some(PLUGIN);
    /// Reads policers. The details do not name their interfaces.
    PolicerDump("policer_dump", "35f1ae0f") {
        match_name_valid: bool,
        match_name: FixedText<64>,
    } => PolicerDetails("policer_details", "72d0e248") {
        name: FixedText<64>,
        /// The rate in kbit/s, or packets per second.
        cir: u32,
        eir: u32,
        /// The burst in bytes.
        cb: u64,
        /// The second burst in bytes.
        eb: u64,
        rate_type: PolicerRateType,
        round_type: u8,
        r#type: PolicerType,
        conform_action: PolicerAction,
        exceed_action: PolicerAction,
        violate_action: PolicerAction,
        single_rate: bool,
        color_aware: bool,
        scale: u32,
        cir_tokens_per_period: u32,
        pir_tokens_per_period: u32,
        current_limit: u32,
        current_bucket: u32,
        extended_limit: u32,
        extended_bucket: u32,
        last_update_time: u64,
    }
}
