//! Calls that fail, are killed or run concurrently, and pods that attack the node.

mod concurrent;
mod disk;
mod every_step;
mod failures;
mod hostile_pod;
mod interrupted;
mod leftovers;
mod power_cut;
