//! `kubectl usnet plan`: what manifests would change on nodes, without applying them. Networks are
//! compiled by the controller's own functions, and operations are planned by those of agents.
//!
//! - [`files`] (IO): the manifests; [`dry_run`] (IO): whether the API server accepts them;
//! - [`input`]: a manifest with the objects that it changes; [`fields`]: the fields that differ;
//! - [`compiled`]: the networks of all manifests, compiled;
//! - [`nodes`]: what a node would do, from the records of its attachments;
//! - [`report`], [`text`]: the answer.

mod compiled;
mod dry_run;
mod fields;
mod files;
mod input;
mod nodes;
mod report;
mod text;

use super::pods::read_records;
use crate::kubectl::api::{Cluster, Scope, read_usnet};
use crate::kubectl::error::{Error, FILE, FINE, PROBLEM};
use crate::kubectl::model::Gap;
use crate::kubectl::output::{Answer, Format, render};
use files::Manifest;
use input::Input;
use report::report;
use std::collections::BTreeMap;
use std::path::PathBuf;
use usnet_crds::{CompiledNetwork, UserspaceNetwork};

/// Options of `kubectl usnet plan`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// A file of manifests, or - for standard input. May be repeated.
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    filenames: Vec<PathBuf>,
}

/// Reads and answers.
///
/// # Errors
/// When a file cannot be used, or networks or node states cannot be read.
pub(crate) async fn run(cluster: &Cluster, options: &Options, format: Format) -> Result<Answer, Error> {
    let manifests = files::read(&options.filenames)?;
    let mut snapshot = read_usnet(cluster).await?;
    let (mut inputs, mut ignored) = (Vec::new(), Vec::new());
    for manifest in manifests {
        match manifest {
            Manifest::Network(manifest) => {
                let existing = cluster.get::<UserspaceNetwork>(Scope::Cluster, &manifest.name).await?;
                let compiled = cluster.get::<CompiledNetwork>(Scope::Cluster, &manifest.name).await;
                let compiled = compiled.unwrap_or_default().map(|compiled| compiled.spec);
                let response = dry_run::ask(cluster, &manifest, existing.as_ref()).await;
                if let Err(why) = &response {
                    let what = format!("whether the API server accepts network {}", manifest.name);
                    snapshot.gaps.push(Gap { what, why: why.clone() });
                }
                let records = read_records(cluster, &mut snapshot, &manifest.name).await;
                let mut by_node = BTreeMap::new();
                for (node, record) in records {
                    by_node.entry(node).or_insert_with(Vec::new).push(record);
                }
                inputs.push(Input { manifest, existing, compiled, response: response.ok(), records: by_node });
            }
            Manifest::Other(what) => ignored.push(what),
        }
    }
    let report = report(&snapshot, &inputs, ignored);
    let exit_status = match (report.is_rejected(), report.is_empty()) {
        (true, _) => FILE,
        (false, false) => PROBLEM,
        (false, true) => FINE,
    };
    Ok(Answer { text: render(&report, format, text::text)?, exit_status })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::example;
