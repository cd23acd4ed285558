//! The CNI protocol from the plugin's side: environment and configuration in, result or error out.
//! No I/O. Source: <https://www.cni.dev/docs/spec/>.

pub mod arguments;
pub mod configuration;
pub mod environment;
pub mod error;
pub mod result;
pub mod version;
