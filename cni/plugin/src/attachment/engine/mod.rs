//! The engine of an attachment: [`EngineClient`] performs one operation of one of the [`drivers`].
//! IO: the engine's control socket.

mod client;
pub mod drivers;
mod error;

pub use client::EngineClient;
pub use error::EngineClientError;
