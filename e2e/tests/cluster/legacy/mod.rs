//! Unmodified NADs and pods of the legacy userspace CNI (Intel).

mod handoff;
mod nads;
mod nads_disabled;
mod node_files;
mod published;
mod switched;
mod taken_over;
mod volumes;
