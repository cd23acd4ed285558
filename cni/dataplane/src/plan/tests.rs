//! What holds for every plan, and a few plans to look at.

mod drift;
mod examples;
mod model;
mod properties;
mod strategies;
mod unbridged;
