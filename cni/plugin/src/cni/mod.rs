//! The CNI protocol as a plugin meets it: environment and configuration in, result or error out. No IO.
//! Source: <https://www.cni.dev/docs/spec/>.

pub mod arguments;
pub mod configuration;
pub mod environment;
pub mod error;
pub mod result;
pub mod version;
