//! Rate limits: one policer for each direction of a port. Pure.
//!
//! A policer is found by its name, which has its port and its rate:
//! `usnet:<port>:<direction>:<kbit/s>`. For a changed limit a new policer is attached before the
//! previous one is deleted: an interrupted change leaves two.

mod commands;
mod direction;
mod policer;
mod support;
#[cfg(test)]
mod tests;

pub(super) use commands::{detach, policer_commands};
pub(super) use direction::Direction;
pub(super) use policer::{Policer, Policers};
pub(super) use support::{LimitSupport, Policed};
