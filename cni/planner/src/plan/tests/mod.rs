//! Properties of every plan, and examples.

mod drift;
mod examples;
mod golden;
mod model;
mod policies;
mod properties;
mod routing;
mod strategies;
mod take_over;
mod tunnels;
mod unbridged;
mod uplinks;
