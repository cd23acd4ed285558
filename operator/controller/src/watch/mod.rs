//! Watch: the cluster as the API server shows it, in the order in which an event passes:
//!
//! 1. [`streams`] (IO): all watches as one stream. They reconnect to an unreachable API server with
//!    exponential back-off; meanwhile the cache is kept;
//! 2. [`update`]: an event of one kind of object, parsed;
//! 3. [`observer`]: applies it to the [`cache`](super::cache) and marks what it makes dirty;
//! 4. [`read`](mod@read) (IO): reads a single object, after a write with an unknown outcome.

mod observer;
#[cfg(test)]
mod observer_tests;
mod read;
mod streams;
mod update;

pub(super) use observer::{Observation, Observer};
pub(super) use read::read;
pub(super) use streams::changes;
#[cfg(test)]
pub(super) use update::ObjectEvent;
pub(super) use update::{Kind, WatchUpdate};
