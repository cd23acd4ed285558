//! JSON-RPC 1.0 as used by OVSDB (RFC 7047 §4), without IO: bytes in, messages out, and vice versa.

mod decoder;
mod endpoint;
mod message;
#[cfg(test)]
mod tests;

pub use decoder::{Decoder, WireError};
pub use endpoint::{Endpoint, Event, RequestId};
pub use message::Message;
