//! `kubectl usnet graph`: networks, their nodes and pods.
//!
//! - [`report`]: the graph of a snapshot, with its [`nodes`]; [`frames`]: the graph by nodes;
//! - [`text`], [`dot`], [`mermaid`]: the graph as a tree, for Graphviz, and for Mermaid;
//! - [`picture`]: the graph as SVG.

mod dot;
mod frames;
mod mermaid;
mod nodes;
pub(crate) mod picture;
pub(crate) mod report;
pub(crate) mod text;

use super::names::find_network;
use super::pods::read_pods;
use crate::api::{Cluster, read_definitions, read_usnet};
use crate::error::{Error, SUCCESS};
use crate::html::{Page, Section, page, picture_section, unread_section};
use crate::output::{Format, Output, Screen, count, render};
use clap::ValueEnum;
use k8s_openapi::jiff::Timestamp;
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
    /// A picture, as SVG.
    Svg,
    /// A page with the picture, for a browser.
    Html,
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
    Ok(Output { text: render_graph(&graph, options.output, snapshot.now)?, exit_status: SUCCESS })
}

fn render_graph(graph: &Graph, format: GraphFormat, now: Timestamp) -> Result<String, Error> {
    match format {
        GraphFormat::Text => Ok(text::colored_text(graph, Screen::current().has_colors)),
        GraphFormat::Svg => Ok(picture::document(graph)),
        GraphFormat::Html => Ok(graph_page(graph, now)),
        GraphFormat::Dot => Ok(dot::dot(graph)),
        GraphFormat::Mermaid => Ok(mermaid::mermaid(graph)),
        GraphFormat::Json => render(graph, Format::Json, text::text),
        GraphFormat::Yaml => render(graph, Format::Yaml, text::text),
    }
}

pub(crate) fn graph_page(graph: &Graph, now: Timestamp) -> String {
    let subtitle = now.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    let sections: Vec<_> = [section(graph)].into_iter().chain(unread_section(&graph.not_read)).collect();
    page(&Page { title: "usnet graph", subtitle: &subtitle, style: picture::STYLE, sections: &sections })
}

/// Returns the section of a page with the picture.
pub(crate) fn section(graph: &Graph) -> Section {
    picture_section(&picture::element(graph), count(graph.networks.len(), "network"))
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
