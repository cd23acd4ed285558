//! The controllers and agents: leader election, a slow API server, many reports, and resource
//! usage.

mod footprint;
mod large_objects;
mod leaders;
mod report_storm;
mod slow_api_server;
mod slow_for_agents;
