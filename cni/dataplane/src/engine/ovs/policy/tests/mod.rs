//! Flows of random policies, carried out by a small [`model`] of a switch, against what the
//! policies say of each frame.

mod examples;
mod frame;
mod model;
mod parts;
mod random;
mod verdicts;
