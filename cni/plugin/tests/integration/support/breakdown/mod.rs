//! VPP breaks down at a chosen message of a call: the simulator by itself, a real VPP with the help
//! of a [`proxy`].

mod call;
mod planned;
mod proxy;

pub(crate) use call::count_messages;
pub(crate) use planned::{Breakdown, Loss};
