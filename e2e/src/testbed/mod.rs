//! What all parts of a test bed know: its settings, its folder, its addresses.

pub mod addresses;
pub mod failure;
pub mod folder;
pub mod progress;
pub mod settings;
