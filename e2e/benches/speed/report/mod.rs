//! What is printed: Markdown tables, and whether targets are met.

pub(crate) mod lines;
pub(crate) mod statistics;
pub(crate) mod table;
mod targets;

pub(crate) use targets::Targets;
