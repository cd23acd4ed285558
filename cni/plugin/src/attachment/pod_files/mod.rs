//! The files by which the pod's program finds its interface: [`description`] in the pod's directory
//! and [`device_info`] for Multus, and the [`names`] of all files. `device_info` writes its file.
//! The others are written by [`PodDirectory`](super::pod_directory::PodDirectory).

pub mod description;
pub mod device_info;
pub mod names;
