//! `kubectl usnet status`: whether all of usnet works, and what needs action.
//!
//! - [`report`]: from a snapshot;
//! - [`text`]: for users.

pub(crate) mod report;
pub(crate) mod text;

use crate::kubectl::api::{Cluster, read_usnet};
use crate::kubectl::error::{Error, FINE, PROBLEM};
use crate::kubectl::output::{Answer, Format, render};

/// Reads and answers.
///
/// # Errors
/// When networks or node states cannot be read.
pub(crate) async fn run(cluster: &Cluster, format: Format) -> Result<Answer, Error> {
    let report = report::report(&read_usnet(cluster).await?);
    let exit_status = if report.is_fine() { FINE } else { PROBLEM };
    Ok(Answer { text: render(&report, format, text::text)?, exit_status })
}

#[cfg(test)]
mod tests;
