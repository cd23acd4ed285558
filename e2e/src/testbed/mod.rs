//! The settings, folder and addresses of a test bed, and its messages to the user.

pub mod addresses;
pub mod failure;
pub mod folder;
pub mod progress;
pub mod settings;
