//! Networks through their life: bridges, NADs, status, drift and deletion.

mod applied;
mod deletion;
mod drift;
mod manual_edits;
mod nads;
mod samples;
mod status;
