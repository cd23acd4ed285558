//! The files of a folder of manifests.
//!
//! 1. [`watch`](mod@watch) (IO) notifies of changes.
//! 2. [`folder`] (IO) reads the files, and keeps the last valid content of each.
//! 3. [`document`] parses the objects of a file, and finds the line of an invalid field with
//!    [`locate`].

pub(super) mod document;
pub(super) mod folder;
mod locate;
pub(super) mod watch;
