//! `MultiNetworkPolicy`, the object of the Network Plumbing Working Group that says which
//! connections pods may have on secondary networks. Its CRD is installed with the clients of others
//! or by users. Format: <https://github.com/k8snetworkplumbingwg/multi-networkpolicy>, of which
//! usnet reads version v1beta1.
//!
//! - [`spec`]: what users write;
//! - [`definitions`]: the NADs that a policy is for, by its annotation;
//! - [`read`]: a spec, as the [`Policy`](crate::policy::Policy) that nodes enforce;
//! - [`selector`]: which pods it is for, and which are peers;
//! - [`problem`]: what cannot be enforced. It matches nothing, and never more than it says.

pub mod definitions;
mod peers;
mod ports;
pub mod problem;
pub mod read;
mod reading;
pub mod selector;
mod size;
pub mod spec;

#[cfg(test)]
mod tests;
