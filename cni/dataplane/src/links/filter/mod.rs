//! What keeps strangers out of overlays. The kernel's VXLAN devices take packets from any address,
//! learn where to send answers from them, and remember all of that: any program that reaches the
//! UDP port of a node would be in every overlay. Rules of nftables drop such packets before they
//! are decapsulated, and count them.
//!
//! - [`OverlayFilter`]: which packets are of overlays, and who may send them. No IO.
//! - `rules`: the rules for that. No IO.
//! - [`KernelFilter`]: the rules that the kernel has (IO).
//!
//! The table is `inet usnet`. Tables of others are never changed.

mod kernel;
mod model;
mod rules;

pub use kernel::{FilterError, KernelFilter};
pub use model::{OverlayFilter, OverlayKey};
