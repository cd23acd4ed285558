//! The agent with manifests in place of an API server.

mod manifests;
mod nads;
mod two_agents;
