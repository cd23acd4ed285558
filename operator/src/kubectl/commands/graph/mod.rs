//! `kubectl usnet graph`: networks, their nodes and pods.
//!
//! - [`report`]: from a snapshot;
//! - [`text`], [`dot`], [`mermaid`]: as a tree, for Graphviz, and for Mermaid.

mod dot;
mod mermaid;
pub(crate) mod report;
pub(crate) mod text;

use super::names::find_network;
use super::pods::read_pods;
use crate::kubectl::api::{Cluster, read_definitions, read_usnet};
use crate::kubectl::error::{Error, FINE};
use crate::kubectl::output::{Answer, Format, render};
use clap::ValueEnum;
use report::{Graph, graph};

/// Options of `kubectl usnet graph`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Only this network.
    network: Option<String>,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t)]
    output: Language,
}

/// The output format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// A tree, for users.
    #[default]
    Text,
    /// For `dot` of Graphviz.
    Dot,
    /// For Mermaid, in Markdown.
    Mermaid,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Reads and answers.
///
/// # Errors
/// When networks or node states cannot be read, or there is no such network.
pub(crate) async fn run(cluster: &Cluster, options: &Options) -> Result<Answer, Error> {
    let mut snapshot = read_usnet(cluster).await?;
    if let Some(network) = &options.network {
        find_network(&snapshot, network)?;
    }
    read_definitions(cluster, &mut snapshot).await;
    read_pods(cluster, &mut snapshot).await;
    let graph = graph(&snapshot, options.network.as_deref());
    Ok(Answer { text: written(&graph, options.output)?, exit_status: FINE })
}

fn written(graph: &Graph, language: Language) -> Result<String, Error> {
    match language {
        Language::Text => Ok(text::text(graph)),
        Language::Dot => Ok(dot::dot(graph)),
        Language::Mermaid => Ok(mermaid::mermaid(graph)),
        Language::Json => render(graph, Format::Json, text::text),
        Language::Yaml => render(graph, Format::Yaml, text::text),
    }
}

#[cfg(test)]
mod tests;
