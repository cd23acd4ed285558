//! The journal of attachments, as the reconciler of one engine uses it (IO).
//!
//! 1. [`snapshot`] reads all records of the engine without a lock.
//! 2. [`attachment_locks`] locks the attachments that a plan changes, and reads their records
//!    again. The plugin may have changed a record meanwhile.
//! 3. [`detached`] removes the records that only waited for the deletion of their ports.

mod attachment_locks;
mod detached;
mod snapshot;

pub(crate) use attachment_locks::AttachmentLocks;
pub(crate) use detached::finish_detached;
pub(crate) use snapshot::{JournalReader, JournalSnapshot};
