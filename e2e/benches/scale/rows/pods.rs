//! Row 4: pods start.

use super::{NETWORK_STATUS, NODE_STATUS};
use crate::agents::protocol::{Attachment, Stats};
use crate::cluster::objects::{network_name, node_name};
use crate::cluster::{COUNTS, Cluster, LIMIT, QUIET};
use crate::measure::Figures;
use crate::measure::audit::User;
use crate::report::{Report, progress};

/// Pods on the fullest node.
const MOST: usize = 100;
/// Pods of one network that start on as many nodes, one after the other.
const ROW: usize = 25;
/// Counts alone wait up to 10 s: these pods start within some 8 s.
const COALESCED: f64 = 2.0;

/// One pod, a hundred on one node, and a row of them.
pub(crate) struct Pods {
    one: (Figures, Stats),
    hundred: Stats,
    row: Figures,
}

/// The networks that have pods on the first node afterwards.
pub(crate) fn networks_with_pods(cluster: &Cluster) -> usize {
    cluster.size.networks.min(MOST)
}

pub(crate) async fn run(cluster: &mut Cluster) -> Pods {
    progress("pods start");
    let networks = networks_with_pods(cluster);
    let pod = |node: usize, index: usize| Attachment {
        node: node_name(node),
        network: network_name(index % networks),
        pod: format!("team-0000/dataplane-{index:04}-7d9c5b6f4-x2x{node:04}"),
    };
    let before = cluster.networks.now().get(&network_name(0)).attachments;
    let window = cluster.begin();
    let stats = cluster.fleet.attach(vec![pod(0, 0)]);
    let is_counted = is_counted(cluster, before + 1).await;
    let one = (cluster.end(window, is_counted, QUIET).await, stats);

    let hundred = cluster.fleet.attach((1..MOST).map(|index| pod(0, index)).collect());
    cluster.settle(COUNTS).await;

    let before = cluster.networks.now().get(&network_name(0)).attachments;
    let window = cluster.begin();
    let nodes = 1..(ROW + 1).min(cluster.size.nodes);
    let count = i64::try_from(nodes.len()).unwrap_or(i64::MAX);
    for node in nodes {
        cluster.fleet.attach(vec![pod(node, 0)]);
    }
    let is_counted = self::is_counted(cluster, before + count).await;
    let row = cluster.end(window, is_counted, COUNTS).await;
    Pods { one, hundred, row }
}

/// Waits until the first network counts so many pods. Without controllers none does.
async fn is_counted(cluster: &mut Cluster, attachments: i64) -> bool {
    let name = network_name(0);
    cluster.is_floor() || cluster.networks.wait(LIMIT, |all| all.get(&name).attachments == attachments).await
}

pub(crate) fn report(report: &mut Report, pods: &Pods) {
    report.row("row 4: a pod starts");
    let (figures, stats) = &pods.one;
    report.figures(figures);
    report.at_most("status writes of its agent", 1.0, figures.writes.count(User::Agent, NODE_STATUS) as f64, "");
    report.at_most("its bytes", 4096.0, stats.largest as f64, "");
    report.at_most("bytes with 100 pods on the node", 30.0 * 1024.0, pods.hundred.largest as f64, "");
    report.row(format!("row 4: {ROW} pods of one network start on {ROW} nodes, one after the other"));
    report.figures(&pods.row);
    let statuses = pods.row.writes.count(User::Controller, NETWORK_STATUS);
    report.at_most("status writes of the network", COALESCED, statuses as f64, "");
}

pub(crate) fn report_floor(report: &mut Report, measured: Option<&Pods>, floor: &Pods) {
    report.row(format!("row 4: the floor, {ROW} pods on {ROW} nodes"));
    report.figures(&floor.row);
    report.figure("bytes of one status write", floor.one.1.largest);
    report.figure("bytes with 100 pods on the node", floor.hundred.largest);
    if let Some(measured) = measured {
        let ratio = measured.row.cpu.api_server / floor.row.cpu.api_server;
        report.figure("API server CPU / floor", format!("{ratio:.2} x"));
    }
}
