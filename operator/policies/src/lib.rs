//! The controller of policies: makes a `CompiledPolicy` of each MultiNetworkPolicy that names a
//! network, and says in events on the policy what of it nodes do not enforce. Which pods the
//! selectors of policies select, and what their addresses are, is in `UserspacePodSlice`s.
//!
//! - [`observed`]: the objects as last seen, and [`definitions`]: which network a
//!   NetworkAttachmentDefinition is for. Pure;
//! - [`compile`](mod@compile): all compiled policies, and what each policy asks for in vain. Pure;
//! - [`selectors`]: those that policies use, [`pods`]: which pods they select, [`slices`]: these
//!   pods as nodes get them, and [`conflicts`]: addresses that several pods have. Pure;
//! - [`plan`](mod@plan): what is written and deleted, and [`pace`]: when. Pure;
//! - [`write`](mod@write) and [`events`] (IO): the requests;
//! - [`run`](mod@run) (IO): the watches and the loop; [`metrics`].
//!
//! Policies are compiled whether or not their networks have them: so they are on nodes before a
//! network gets them. There is one replica: while none runs, nodes enforce what is compiled.

mod compile;
mod conflicts;
mod definitions;
mod events;
pub mod metrics;
mod object_name;
mod observed;
mod pace;
mod plan;
mod pods;
mod run;
mod selectors;
mod shared;
mod slices;
mod write;

#[cfg(test)]
mod tests;

pub use run::{Error, Options, run};
