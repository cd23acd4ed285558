//! `kubectl usnet graph`: networks, their nodes and pods.
//!
//! - [`report`]: the graph of a snapshot;
//! - [`text`], [`dot`], [`mermaid`]: the graph as a tree, for Graphviz, and for Mermaid.

mod dot;
mod mermaid;
pub(crate) mod report;
pub(crate) mod text;

use super::names::find_network;
use super::pods::read_pods;
use crate::api::{Cluster, read_definitions, read_usnet};
use crate::error::{Error, SUCCESS};
use crate::output::{Format, Output, render};
use clap::ValueEnum;
use report::{Graph, graph};

/// Options of `kubectl usnet graph`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Show only this network.
    network: Option<String>,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t)]
    output: GraphFormat,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
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

pub(crate) async fn run(cluster: &Cluster, options: &Options) -> Result<Output, Error> {
    let mut snapshot = read_usnet(cluster).await?;
    if let Some(network) = &options.network {
        find_network(&snapshot, network)?;
    }
    read_definitions(cluster, &mut snapshot).await;
    read_pods(cluster, &mut snapshot).await;
    let graph = graph(&snapshot, options.network.as_deref());
    Ok(Output { text: render_graph(&graph, options.output)?, exit_status: SUCCESS })
}

fn render_graph(graph: &Graph, format: GraphFormat) -> Result<String, Error> {
    match format {
        GraphFormat::Text => Ok(text::text(graph)),
        GraphFormat::Dot => Ok(dot::dot(graph)),
        GraphFormat::Mermaid => Ok(mermaid::mermaid(graph)),
        GraphFormat::Json => render(graph, Format::Json, text::text),
        GraphFormat::Yaml => render(graph, Format::Yaml, text::text),
    }
}

#[cfg(test)]
mod tests;
