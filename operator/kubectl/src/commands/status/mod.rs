//! `kubectl usnet status`: whether all of usnet works, and what needs action.
//!
//! - [`report`]: the report of a snapshot;
//! - [`problems`]: problems, grouped by their causes;
//! - [`text`]: the report as text.

pub(crate) mod problems;
pub(crate) mod report;
pub(crate) mod text;

use crate::api::{Cluster, read_engines, read_usnet};
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::output::{Format, Output, render};

pub(crate) async fn run(cluster: &Cluster, format: Format) -> Result<Output, Error> {
    let mut snapshot = read_usnet(cluster).await?;
    read_engines(cluster, &mut snapshot, false).await?;
    let report = report::report(&snapshot);
    let exit_status = if report.is_ok() { SUCCESS } else { PROBLEM };
    Ok(Output { text: render(&report, format, text::text)?, exit_status })
}

#[cfg(test)]
mod tests;
