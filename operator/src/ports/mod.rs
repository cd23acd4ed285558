//! Traffic of the attached interfaces of this node: which pod's interface a port is, and what the
//! engines count for it. Nothing is read without a request.
//!
//! - [`reader`] (IO): the journal, and the counters of the engines;
//! - [`exposition`]: the text for Prometheus;
//! - [`scrape`] (IO): what `/metrics/ports` answers, which is kept for a few seconds.

pub mod exposition;
pub mod reader;
pub mod scrape;

#[cfg(test)]
mod tests;
