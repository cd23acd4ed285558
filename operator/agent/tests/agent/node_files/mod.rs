//! Golden files: what the agent itself writes, and an agent on a node that an earlier release left.

mod agent;
mod restored;
