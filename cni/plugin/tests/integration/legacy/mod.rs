//! Compatibility with Intel's userspace CNI.

mod configurations;
mod defects;
mod handoff;
mod shared_dir;
mod state;
mod taken_over;
