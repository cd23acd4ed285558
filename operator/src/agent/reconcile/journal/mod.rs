//! The journal of attachments, as the reconciler of one engine uses it (IO).
//!
//! 1. [`snapshot`]: all records of the engine, read without a lock.
//! 2. [`attachment_locks`]: locks of the attachments that a plan changes, and their records read
//!    again under them. The plugin may have changed a record since it was read.
//! 3. [`detached`]: removes the records that only waited for their ports to be deleted.

mod attachment_locks;
mod detached;
mod snapshot;

pub(crate) use attachment_locks::AttachmentLocks;
pub(crate) use detached::finish_detached;
pub(crate) use snapshot::{JournalReader, JournalSnapshot};
