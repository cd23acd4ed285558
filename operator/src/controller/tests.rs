//! The pure part of a pass, run against a model of the cluster: [`model`] does what the API server and the agents do.

mod accepting;
mod deleting;
mod editing;
mod effort;
mod from_nad;
mod kstatus;
mod model;
mod news;
mod placing;
mod properties;
mod reporting;
mod watching;
