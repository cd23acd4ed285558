//! `kubectl usnet trace POD POD [CONNECTION]`: the path of packets from one pod to another, step by
//! step, and where it is broken.
//!
//! - [`read`] (IO): reads the [`facts`] about both endpoints from the API server and both nodes;
//! - [`steps`]: makes steps and a conclusion of these facts (pure): [`endpoint`] those of one
//!   endpoint, [`network`] those between the endpoints, [`policies`] what these say of a
//!   [`connection`], which [`path`] collects;
//! - [`report`]: the report; [`text`]: the report as text.

pub(crate) mod connection;
mod endpoint;
mod facts;
mod network;
mod path;
mod policies;
mod read;
mod report;
mod steps;
#[cfg(test)]
mod tests;
mod text;

use crate::api::{Cluster, Scope, read_allowed, read_definitions_for, read_interfaces, read_policies};
use crate::commands::explain;
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::output::{Format, Output, render};
use connection::Target;
use std::collections::BTreeSet;
use usnet_crds::NetworkName;

/// Options of `kubectl usnet trace`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The sending pod, as NAME or NAMESPACE/NAME.
    from: String,
    /// The receiving pod, as NAME or NAMESPACE/NAME.
    to: String,
    /// The connection of which policies are asked: tcp/PORT, udp/PORT, or icmp for protocols
    /// without ports.
    connection: Option<Target>,
    /// The network, if the pods have several in common.
    #[arg(long, value_name = "NAME")]
    network: Option<NetworkName>,
    /// The interval over which counters are compared, in seconds: they show whether the receiving
    /// program takes packets. Open vSwitch updates its counters every 5 seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 6, value_parser = clap::value_parser!(u64).range(0..=15))]
    interval: u64,
}

pub(crate) async fn run(cluster: &Cluster, options: &Options, format: Format) -> Result<Output, Error> {
    let mut snapshot = read_allowed(cluster).await?;
    let from = explain::pod::read::read(cluster, &mut snapshot, &options.from).await?;
    let to = explain::pod::read::read(cluster, &mut snapshot, &options.to).await?;
    snapshot.events.clear();
    read_definitions_for(cluster, &mut snapshot, &from.namespace).await;
    snapshot.pods = vec![from.clone(), to.clone()];
    let namespaces = [from.namespace.as_str(), to.namespace.as_str()];
    for namespace in namespaces.into_iter().collect::<BTreeSet<_>>() {
        read_interfaces(cluster, &mut snapshot, Scope::Namespace(namespace)).await;
    }
    read_policies(cluster, &mut snapshot).await;
    let pods = [&from, &to];
    let report = match facts::common_network(&snapshot, pods, options.network.as_ref()) {
        Ok(network) => {
            let facts = read::facts(cluster, &snapshot, pods, &network, options.interval).await;
            steps::report(&snapshot, &facts, options.connection)
        }
        Err(facts::NoCommonNetwork::Ambiguous(candidates)) => {
            let (kind, name) = ("the network", format!("of {} and {}", from.reference(), to.reference()));
            return Err(Error::Ambiguous { kind, name, candidates });
        }
        Err(facts::NoCommonNetwork::None(networks)) => steps::no_common_network(&snapshot, pods, &networks),
    };
    let exit_status = if report.conclusion.is_ok() { SUCCESS } else { PROBLEM };
    Ok(Output { text: render(&report, format, text::text)?, exit_status })
}
