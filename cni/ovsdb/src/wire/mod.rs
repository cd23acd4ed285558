//! JSON-RPC 1.0 as used by OVSDB (RFC 7047 §4), without IO: bytes in, messages out, and vice
//! versa.

mod decoder;
mod endpoint;
mod error;
mod message;
#[cfg(test)]
mod tests;

pub use decoder::Decoder;
pub use endpoint::{Endpoint, Event, RequestId};
pub use error::WireError;
pub use message::Message;
pub use usnet_transport::Protocol;
