//! `kubectl usnet explain`: why a pod, a network or a node does not work, and what to do. Each
//! cause is a pure function of a snapshot; objects count more than texts of events, which are old.
//!
//! - [`finding`]: a cause with its remedy, and the answer; [`text`]: for users;
//! - [`pod`], [`network`], [`node`]: the causes of each;
//! - [`remedy`]: what to do about a reason that the agent or the controller reports.

pub(crate) mod finding;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod pod;
pub(crate) mod remedy;
pub(crate) mod text;

use super::names::{find_network, find_node};
use crate::kubectl::api::{Cluster, read_definitions, read_usnet};
use crate::kubectl::error::{Error, FINE, PROBLEM};
use crate::kubectl::output::{Answer, Format, render};
use finding::Report;

/// What to explain.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Subject {
    /// A pod that does not start, or that no packets reach.
    Pod {
        /// Its name, or NAMESPACE/NAME.
        name: String,
    },
    /// A network that is not Ready, or that cannot be deleted.
    Network {
        /// Its name.
        name: String,
    },
    /// A node on which networks or pods do not work.
    Node {
        /// Its name.
        name: String,
    },
}

/// Reads and answers.
///
/// # Errors
/// When networks or node states cannot be read, or there is no such object.
pub(crate) async fn run(cluster: &Cluster, subject: &Subject, format: Format) -> Result<Answer, Error> {
    let mut snapshot = read_usnet(cluster).await?;
    let report = match subject {
        Subject::Pod { name } => {
            read_definitions(cluster, &mut snapshot).await;
            let pod = pod::read::read(cluster, &mut snapshot, name).await?;
            pod::report(&snapshot, &pod)
        }
        Subject::Network { name } => {
            find_network(&snapshot, name)?;
            network::report(&snapshot, name)
        }
        Subject::Node { name } => {
            find_node(&snapshot.cache.nodes, name)?;
            node::report(&snapshot, name)
        }
    };
    answer(&report, format)
}

fn answer(report: &Report, format: Format) -> Result<Answer, Error> {
    let exit_status = if report.is_fine() { FINE } else { PROBLEM };
    Ok(Answer { text: render(report, format, text::text)?, exit_status })
}
