//! The pure steps, run against a model of the cluster: [`model`] simulates the API server and the
//! agents.

mod accepting;
mod attachments;
mod deleting;
mod events;
mod kstatus;
mod legacy;
mod model;
mod overlays;
mod placing;
mod properties;
mod reporting;
mod reservations;
mod routing_domains;
mod status_times;
mod uplinks;
mod watching;
