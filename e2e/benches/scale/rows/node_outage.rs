//! Row 5: a node goes NotReady and comes back.

use super::NETWORK_STATUS;
use super::pods::networks_with_pods;
use crate::cluster::objects::{node_name, set_ready};
use crate::cluster::{COUNTS, Cluster};
use crate::measure::Figures;
use crate::measure::audit::User;
use crate::report::{Report, progress};
use kube::Api;

/// Network status writes in a second.
const RATE: f64 = 50.0;

/// Both ways.
pub(crate) struct Outage {
    networks_with_pods: usize,
    gone: Figures,
    back: Figures,
}

/// With the node that [`super::pods`] gave pods to.
pub(crate) async fn run(cluster: &mut Cluster) -> Outage {
    progress("a node goes and comes back");
    let networks_with_pods = networks_with_pods(cluster);
    Outage { networks_with_pods, gone: turn(cluster, false).await, back: turn(cluster, true).await }
}

async fn turn(cluster: &mut Cluster, is_ready: bool) -> Figures {
    let window = cluster.begin();
    set_ready(&Api::all(cluster.admin.clone()), &node_name(0), is_ready).await;
    cluster.end(window, true, COUNTS).await
}

pub(crate) fn report(report: &mut Report, outage: &Outage) {
    for (what, figures) in [("goes NotReady", &outage.gone), ("comes back", &outage.back)] {
        report.row(format!("row 5: a node with pods of {} networks {what}", outage.networks_with_pods));
        report.figures(figures);
        let writes = &figures.writes;
        let statuses = writes.count(User::Controller, NETWORK_STATUS);
        report.at_most("status writes of networks", outage.networks_with_pods as f64, statuses as f64, "");
        let most = writes.most(User::Controller, NETWORK_STATUS);
        report.at_most("of the network written most", 1.0, most as f64, "");
        let rate = writes.most_in_a_second(User::Controller, NETWORK_STATUS);
        report.at_most("in the busiest second", RATE, rate as f64, "");
    }
}

pub(crate) fn report_floor(report: &mut Report, floor: &Outage) {
    report.row("row 5: the floor, without controllers");
    report.figures(&floor.gone);
    report.figures(&floor.back);
}
