//! The names of a pod's `emptyDir` volume.

/// The name of the volume in the pod, unless the network names another.
pub const VOLUME: &str = usnet_crds::names::DEFAULT_VOLUME;
/// The name of the volume in pods for Userspace CNI, which is used if there is no [`VOLUME`]. It
/// must be an `emptyDir`, too: a folder of the host would not belong to one pod.
pub const LEGACY_VOLUME: &str = "shared-dir";
