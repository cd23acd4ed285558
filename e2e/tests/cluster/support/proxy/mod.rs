//! An HTTP proxy that injects faults between the API server and one program.

pub(crate) mod agent;
pub(crate) mod controller;
pub(crate) mod program;
pub(crate) mod server;
