//! Networks come into a cluster that runs.

use crate::cluster::objects::{make_networks, network_name};
use crate::cluster::{Cluster, QUIET, Writer};
use crate::measure::Figures;
use crate::measure::audit::User;
use crate::report::{Report, progress};
use crate::rows::NETWORK_STATUS;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(900);

/// Makes all networks and waits until they are ready on all nodes. The agents run.
pub(crate) async fn with_controllers(cluster: &mut Cluster) -> Figures {
    let size = cluster.size;
    progress(format_args!("{} networks are made", size.networks));
    let window = cluster.begin();
    let template = cluster.template;
    make_networks(&cluster.admin, (0..size.networks).map(|index| template.network(&network_name(index)))).await;
    let are_ready = cluster.networks.wait(LIMIT, |all| all.count_ready(size.nodes) == size.networks).await;
    cluster.end(window, are_ready, QUIET).await
}

pub(crate) fn report(report: &mut Report, figures: &Figures, networks: usize) {
    report.row("start: all networks are made at once");
    report.figures(figures);
    let (writes, user) = (&figures.writes, User::Controller);
    let average = writes.count(user, NETWORK_STATUS) as f64 / networks as f64;
    let most = writes.most(user, NETWORK_STATUS);
    report.figure("status writes of a network, average / most", format!("{average:.1} / {most}"));
}

/// The same without any program of usnet.
pub(crate) async fn without_controllers(cluster: &mut Cluster) {
    let template = cluster.template;
    let networks = (0..cluster.size.networks).map(|index| template.network(&network_name(index)));
    make_networks(&cluster.admin, networks).await;
    cluster.measure_floor().await;
    if let Writer::RawClient(raw) = &cluster.writer {
        raw.set_up(&cluster.admin, cluster.size.namespaces).await;
    }
}
