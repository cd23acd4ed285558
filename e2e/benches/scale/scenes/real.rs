//! Rows 1, 2 and 8 with `usnet agent` itself on 20 nodes, each with a simulated VPP.

use super::networks::MANY;
use super::start;
use crate::agents::fleet::Fleet;
use crate::cluster::objects::Template;
use crate::cluster::{Cluster, QUIET, tokens};
use crate::measure::Figures;
use crate::real_agents::RealAgents;
use crate::report::{Report, progress};
use crate::rows::{change, rest};
use crate::settings::{Settings, Size};
use usnet_crds::EngineKind;

const NODES: usize = 20;
const NETWORKS: [usize; 2] = [10, 1000];

pub(crate) async fn run(settings: &Settings, report: &mut Report) {
    for networks in NETWORKS {
        with(Size { nodes: NODES, networks, namespaces: 1 }, settings, report).await;
    }
}

async fn with(size: Size, settings: &Settings, report: &mut Report) {
    report.scene(format!("real agents: {size}"));
    let mut cluster = Cluster::start(size, Template { engine: EngineKind::Vpp, shares_definitions: false }).await;
    let measured = if settings.is_floor_only {
        start::without_controllers(&mut cluster).await;
        start_agents(&mut cluster).await;
        None
    } else {
        cluster.controllers.start();
        cluster.controllers.wait_until_ready();
        start_agents(&mut cluster).await;
        let rows = with_controllers(&mut cluster, report).await;
        cluster.measure_floor().await;
        Some(rows)
    };
    let (one, many) = measured.as_ref().map(|(one, many)| (one.as_slice(), many.as_slice())).unzip();
    let floor = change::run(&mut cluster, 1).await;
    change::report_floor(report, "row 1", one, &floor);
    if size.networks >= MANY {
        let floor = change::run(&mut cluster, MANY).await;
        change::report_floor(report, "row 2", many, &floor);
    }
    report.peak(cluster.peak());
}

async fn start_agents(cluster: &mut Cluster) {
    progress("agents start");
    let tokens = tokens::of_agents(&cluster.admin).await;
    let agents = RealAgents::start(&cluster.server, &tokens);
    if cluster.is_floor() {
        assert!(agents.wait_for(1, &cluster.admin).await, "not all agents have reported");
    }
    cluster.fleet = Fleet::Real(agents);
    cluster.settle(QUIET).await;
}

/// One changed network, and many; the latter is empty where there are not so many.
async fn with_controllers(cluster: &mut Cluster, report: &mut Report) -> (Vec<Figures>, Vec<Figures>) {
    let networks = cluster.size.networks;
    let started = start::with_controllers(cluster).await;
    start::report(report, &started, networks);
    let has_many = networks >= MANY;
    if has_many {
        rest::report(report, &rest::run(cluster).await);
    }
    let one = change::run(cluster, 1).await;
    change::report_one(report, &one);
    report.one_change(&format!("{NODES} real agents"), networks, change::average(&one));
    let many = if has_many { change::run(cluster, MANY).await } else { Vec::new() };
    if has_many {
        change::report_many(report, &many, MANY);
    }
    (one, many)
}
