//! `kubectl usnet trace POD POD`: the way of packets from one pod to another, step by step, and
//! where it ends.
//!
//! - [`facts`]: what is known of both ends; [`read`] (IO): from the API server and both nodes;
//! - [`steps`]: from these facts to steps and a conclusion, a pure function: [`ends`] those of one
//!   end, [`between`] those between the ends;
//! - [`report`]: the answer; [`text`]: for users.

mod between;
mod ends;
mod facts;
mod read;
mod report;
mod steps;
#[cfg(test)]
mod tests;
mod text;
mod way;

use crate::kubectl::api::{Cluster, read_definitions, read_usnet};
use crate::kubectl::commands::explain;
use crate::kubectl::error::{Error, FINE, PROBLEM};
use crate::kubectl::output::{Answer, Format, render};
use usnet_crds::NetworkName;

/// Options of `kubectl usnet trace`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The pod that sends: its name, or NAMESPACE/NAME.
    from: String,
    /// The pod that receives.
    to: String,
    /// The network, where both pods have several.
    #[arg(long, value_name = "NAME")]
    network: Option<NetworkName>,
    /// For how many seconds counters are watched: whether a program takes what arrives. Open
    /// vSwitch updates them every 5 seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 6, value_parser = clap::value_parser!(u64).range(0..=15))]
    interval: u64,
}

/// Reads and answers.
///
/// # Errors
/// When networks or node states cannot be read, or there is no such pod.
pub(crate) async fn run(cluster: &Cluster, options: &Options, format: Format) -> Result<Answer, Error> {
    let mut snapshot = read_usnet(cluster).await?;
    read_definitions(cluster, &mut snapshot).await;
    let from = explain::pod::read::read(cluster, &mut snapshot, &options.from).await?;
    let to = explain::pod::read::read(cluster, &mut snapshot, &options.to).await?;
    snapshot.events.clear();
    let pods = [&from, &to];
    let report = match facts::common_network(&snapshot, pods, options.network.as_ref()) {
        Ok(network) => {
            let facts = read::facts(cluster, &snapshot, pods, &network, options.interval).await;
            steps::report(&snapshot, &facts)
        }
        Err(facts::NoCommonNetwork::Ambiguous(candidates)) => {
            let (kind, name) = ("network of both pods", format!("of {} and {}", from.reference(), to.reference()));
            return Err(Error::Ambiguous { kind, name, candidates });
        }
        Err(facts::NoCommonNetwork::None(networks)) => steps::no_common_network(&snapshot, pods, &networks),
    };
    let exit_status = if report.conclusion.is_fine() { FINE } else { PROBLEM };
    Ok(Answer { text: render(&report, format, text::text)?, exit_status })
}
