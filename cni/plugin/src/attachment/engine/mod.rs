//! The engine of an attachment: [`EngineClient`] performs one operation of one of the [`drivers`],
//! [`NewPort`] is the port of an ADD. Only this folder knows the operations and the model of
//! `usnet-dataplane`. IO: the engine's control socket, and netlink for a veth.

mod client;
pub mod drivers;
mod error;
mod new_port;

pub use client::{EngineClient, RequestedPort};
pub use error::EngineClientError;
pub use new_port::NewPort;
