//! The processes of a test bed, in the order in which they start: launcher, janitor, init,
//! orchestrator, the user's command.

pub mod arguments;
pub mod control;
pub mod init;
pub mod janitor;
pub mod launcher;
pub mod orchestrator;
pub mod roles;
pub(crate) mod start;
pub mod user_command;
