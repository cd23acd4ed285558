//! `CompiledPolicy`: what nodes enforce of one MultiNetworkPolicy, written by the controller of
//! policies alone and watched by the agents of nodes that have networks with policies. A policy
//! without one restricts nothing.
//!
//! - [`spec`]: the object;
//! - [`name`]: its name;
//! - [`convert`]: from and to the [`Policy`](crate::policy::Policy) that nodes compile to flows.

mod convert;
pub mod name;
pub mod spec;

#[cfg(test)]
mod tests;
