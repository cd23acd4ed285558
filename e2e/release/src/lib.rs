//! The files of a release. Identical sources give identical bytes: no file depends on the time, the
//! user, the order of a folder or the place of the checkout.
//!
//! - [`image`] writes images of containers, without a container engine.
//! - [`openvswitch`] is the image of Open vSwitch, made of Debian [`packages`] that are installed:
//!   programs with their [`libraries`], [`drivers`] of DPDK, and what [`verbs`] needs.
//! - [`chart`] makes the Helm chart from `config/`.
//! - [`sbom`] lists what the programs and that image are made of.
//! - [`plugin`] is the plugin of kubectl, for the systems of users.
//! - [`samples`] joins the samples.
//! - [`release`] puts all of them into one folder.

pub mod chart;
pub mod commands;
pub mod digest;
pub mod drivers;
pub mod image;
pub mod libraries;
pub mod openvswitch;
pub mod packages;
pub mod plugin;
pub mod release;
pub mod samples;
pub mod sbom;
pub mod tarball;
pub mod target;
pub mod verbs;
