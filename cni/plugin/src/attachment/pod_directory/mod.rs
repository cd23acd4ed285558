//! The directory that a pod shares with the engine, mounted for the engine at a short path. Its
//! source is the pod's `emptyDir` volume `usnet`, or a folder of the node that belongs to the pod
//! alone.
//!
//! The pod controls the content, and an engine connects to a socket there as root. Therefore the
//! engine and the plugin never use the volume itself but a mount with `nosymfollow`: a link that
//! the pod creates there cannot be followed.
//!
//! [`PodDirectory`] is one pod's directory. All of its methods perform IO, except those that name
//! paths. [`leftovers`] finds and removes the directories that belong to no attachment.

mod containers;
mod device;
mod directory;
mod engine_folder;
mod error;
mod files;
mod folder;
pub mod leftovers;
mod lock;
mod mount;
mod source;
mod volume;

pub use device::allocate as allocate_device;
pub use directory::{PodDirectory, StillUsed};
pub use error::PodDirectoryError;
pub use volume::{LEGACY_VOLUME, VOLUME};
