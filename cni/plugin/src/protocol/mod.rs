//! The CNI protocol from the plugin's side, by <https://www.cni.dev/docs/spec/>. No IO, except that
//! [`input`] reads standard input.
//!
//! A call comes as [`input`], [`environment`] with its [`arguments`], [`configuration`] of a
//! [`version`], and [`network_selection`], the networks in the pod's annotation. It is answered by
//! [`result`] or [`error`].

pub mod arguments;
pub mod configuration;
pub mod environment;
pub mod error;
pub mod input;
pub mod network_selection;
pub mod result;
pub mod version;
