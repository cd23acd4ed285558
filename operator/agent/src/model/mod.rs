//! The types that the steps of the agent pass to each other. No IO.
//!
//! In the order in which they arise: [`input`], [`file_networks`], [`spec`], [`policies`],
//! [`engine_view`], [`health`] with its [`reason`], [`engine_facts`], [`report`].

pub(crate) mod engine_facts;
pub(crate) mod engine_view;
pub mod file_networks;
pub(crate) mod health;
pub mod input;
pub mod policies;
pub(crate) mod reason;
pub mod report;
pub mod spec;
