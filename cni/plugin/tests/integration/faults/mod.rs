//! Calls that fail, are killed or run concurrently, and pods that attack the node.

mod concurrent;
mod disk;
mod failures;
mod hostile_pod;
mod interrupted;
mod leftovers;
