//! The CNI protocol from the plugin's side: environment and configuration in, result or error out.
//! No IO, except that [`input`] reads standard input. Source: <https://www.cni.dev/docs/spec/>.
//!
//! In: [`input`], [`environment`] with its [`arguments`], [`configuration`] of a [`version`], and
//! [`network_selection`], the networks in the pod's annotation. Out: [`result`] or [`error`].

pub mod arguments;
pub mod configuration;
pub mod environment;
pub mod error;
pub mod input;
pub mod network_selection;
pub mod result;
pub mod version;
