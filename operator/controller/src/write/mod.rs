//! Write: the writes to the API server, in the order in which each passes through this folder. All
//! but the last are pure:
//!
//! 1. [`Write`]: one write as a value, [`AttachmentWrite`] for attachments, and the [`Target`] that
//!    it changes;
//! 2. [`queue`]: the pending writes by priority, one for each target;
//! 3. [`guards`]: targets that may not be written now;
//! 4. [`limiter`] and [`counts_rate`]: how many requests may be in flight, and how often counts are
//!    written;
//! 5. [`request`] (IO): sends a write.

mod attachment;
pub mod counts_rate;
pub mod guards;
pub mod limiter;
mod operation;
pub mod queue;
#[cfg(feature = "run")]
pub mod request;
mod target;

pub use attachment::AttachmentWrite;
pub use operation::{DesiredNad, FinalizerChange, Write};
pub use target::Target;
