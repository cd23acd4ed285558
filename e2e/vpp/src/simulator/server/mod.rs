//! The connections of clients and of the test, served by one thread.

mod client;
mod control;
mod listen;
mod messages;
pub(crate) mod shared;
mod sockets;
mod table;
pub(crate) mod thread;
