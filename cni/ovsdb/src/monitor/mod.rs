//! Watching tables: the messages of a monitor, and the rows that they keep up to date. No IO.

mod cache;
mod messages;
#[cfg(test)]
mod tests;

pub use cache::{Cache, CacheError};
pub use messages::{CANCELED_METHOD, Change, METHOD, RowUpdate, UPDATE_METHOD, parse_reply, parse_update, request};
