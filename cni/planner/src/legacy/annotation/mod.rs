//! The interface status that applications of the legacy userspace CNI read: file names that contain
//! the container id, and an element of the pod's annotation `userspace/configuration-data`, which
//! is also a file beside the socket.
//!
//! The format is that of the legacy plugin (`pkg/types`, `ConfigurationData`), including the order
//! of keys: applications expect `containerId` first. They split lines at `=`, strip all spaces and
//! backslashes, and recognise an address only by its `version`; so texts contain none of these
//! characters, and addresses have a `version`. Pure.
//!
//! `status` builds the element, `text` removes from texts what applications misread, `names` has
//! the names of annotations and files.

mod names;
mod status;
#[cfg(test)]
mod tests;
mod text;

pub use crate::model::attachment::LegacyInterfaceStatus;
pub use names::{
    ANNOTATION, MAPPED_DIR_ANNOTATION, USUAL_MAPPED_DIR, annotation, file_name, short_id, socket_name, state_file_name,
};
pub use status::{AddressAndGateway, LegacyResult};
