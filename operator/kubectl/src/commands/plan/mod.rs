//! `kubectl usnet plan`: what manifests would change on nodes, without applying them. Networks are
//! compiled by the controller's own functions, and operations are planned by those of agents.
//!
//! - [`files`] (IO): reads the manifests; [`dry_run`] (IO): validates them at the API server;
//! - [`input`]: a manifest with the objects that it changes; [`fields`]: the fields that differ;
//! - [`compiled`]: compiles the networks of all manifests;
//! - [`nodes`]: the operations of a node, from the records of its attachments;
//! - [`mod@report`]: the report; [`text`]: the report as text.

mod compiled;
mod dry_run;
mod fields;
mod files;
mod input;
mod nodes;
mod report;
mod text;

use super::pods::read_records;
use crate::api::{Cluster, Scope, read_usnet};
use crate::error::{Error, FILE, PROBLEM, SUCCESS};
use crate::model::Unread;
use crate::output::{Format, Output, render};
use files::Manifest;
use input::Input;
use report::report;
use std::collections::BTreeMap;
use usnet_crds::{CompiledNetwork, UserspaceNetwork};

/// Options of `kubectl usnet plan`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    sources: files::Sources,
}

pub(crate) async fn run(cluster: &Cluster, options: &Options, format: Format) -> Result<Output, Error> {
    let manifests = options.sources.read()?;
    let mut snapshot = read_usnet(cluster).await?;
    let (mut inputs, mut ignored) = (Vec::new(), Vec::new());
    for manifest in manifests {
        match manifest {
            Manifest::Network(manifest) => {
                let existing = cluster.get::<UserspaceNetwork>(Scope::Cluster, &manifest.name).await?;
                let compiled = cluster.get::<CompiledNetwork>(Scope::Cluster, &manifest.name).await;
                let compiled = compiled.unwrap_or_default().map(|compiled| compiled.spec);
                let response = dry_run::validate(cluster, &manifest, existing.as_ref()).await;
                if let Err(why) = &response {
                    let what = format!("whether the API server accepts network {}", manifest.name);
                    snapshot.unread.push(Unread { what, why: why.clone() });
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
        (false, true) => SUCCESS,
    };
    Ok(Output { text: render(&report, format, text::text)?, exit_status })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::example;
