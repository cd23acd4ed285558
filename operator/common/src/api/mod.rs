//! The API server, as the controller and the agent use it.
//!
//! - [`any`] (IO): whether there are objects that an earlier run left;
//! - [`client`]: the client (IO);
//! - [`device_api`]: kinds of dynamic resource allocation;
//! - [`error`]: its errors, for users and for retries;
//! - [`partial_object`]: objects of which only the used fields are deserialized;
//! - [`pruning`] (IO): answers without what is not used of them;
//! - [`reflector`]: applies watch events to what was observed;
//! - [`watch`](mod@watch) (IO): watches that recover from any failure.

pub mod any;
pub mod client;
pub mod device_api;
pub mod error;
pub mod partial_object;
pub(crate) mod pruning;
pub mod reflector;
pub mod watch;
