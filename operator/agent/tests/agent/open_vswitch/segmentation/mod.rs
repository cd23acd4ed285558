//! Checksums and the splitting of packets, which kernel pods leave to a switch that finishes them.

mod following;
mod guarded;
mod one_end;
mod renamed;
pub(super) mod scene;
