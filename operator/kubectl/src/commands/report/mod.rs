//! `kubectl usnet report`: the state of all of usnet as a page, which is one file and loads
//! nothing.
//!
//! - [`content`]: what is on the page, and how it is read (IO);
//! - [`mod@page`]: the page, of the parts [`status`], [`traffic`] and [`changes`];
//! - [`causes`]: the problems of the status by their causes.

mod causes;
mod changes;
pub(crate) mod content;
mod page;
mod status;
mod traffic;

pub(crate) use page::page;

use super::pods::read_pods;
use crate::api::{Cluster, read_definitions, read_usnet};
use crate::error::{Error, SUCCESS};
use crate::output::Output;
use crate::private_file;
use clap::ValueEnum;
use content::{Since, read};
use k8s_openapi::jiff::SignedDuration;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `kubectl usnet report`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The output format.
    #[arg(short, long, value_enum, default_value_t)]
    output: ReportFormat,
    /// The file to write, which only its owner can read, or - for standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    write: PathBuf,
    /// The interval over which traffic is averaged, in seconds. Open vSwitch updates its counters
    /// every 5 seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=15))]
    interval: u64,
    /// Only the changes of the last DURATION, such as 30m or 2h.
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    since: SignedDuration,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// A page for a browser.
    #[default]
    Html,
}

pub(crate) async fn run(cluster: &Cluster, options: &Options) -> Result<Output, Error> {
    let ReportFormat::Html = options.output;
    let mut snapshot = read_usnet(cluster).await?;
    read_definitions(cluster, &mut snapshot).await;
    read_pods(cluster, &mut snapshot).await;
    let content = read(cluster, &snapshot, Some(options.interval), Since(options.since)).await?;
    let html = page(&content);
    if options.write == Path::new("-") {
        return Ok(Output { text: html, exit_status: SUCCESS });
    }
    let written = private_file::create(&options.write).and_then(|mut file| file.write_all(html.as_bytes()));
    let failed = |error: std::io::Error| Error::File { path: options.write.clone(), problem: error.to_string() };
    written.map_err(failed)?;
    Ok(Output {
        text: format!("{}: {} KB\n", options.write.display(), html.len().div_ceil(1000)),
        exit_status: SUCCESS,
    })
}

#[cfg(test)]
pub(crate) mod tests;
