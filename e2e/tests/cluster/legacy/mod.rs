//! NADs and pods of the legacy userspace CNI (Intel), unedited.

mod handoff;
mod nads;
mod nads_disabled;
