//! The traffic of the attached interfaces of this node. Nothing is read without a request.
//!
//! - [`reader`] (IO) combines the journal with the counters of the engines.
//! - [`exposition`] formats them for Prometheus.
//! - [`scrape`] (IO) answers `/metrics/ports`, and keeps the answer for a few seconds.

pub mod exposition;
pub mod reader;
pub mod scrape;

#[cfg(test)]
mod tests;
