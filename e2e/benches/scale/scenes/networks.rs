//! Rows 1, 2, 4, 5, 7 and 8: first with the controllers, then their floors with the raw client.

use super::start;
use crate::agents::fleet::Fleet;
use crate::agents::simulated::Simulated;
use crate::cluster::objects::Template;
use crate::cluster::{Cluster, tokens};
use crate::measure::Figures;
use crate::report::{Report, progress};
use crate::rows::{change, leader_change, node_outage, pods, rest};
use crate::settings::{Settings, Size};
use usnet_crds::EngineKind;

/// Networks that change at once.
pub(crate) const MANY: usize = 100;

/// What has a floor.
struct Rows {
    rest: Figures,
    one: Vec<Figures>,
    many: Option<Vec<Figures>>,
    pods: pods::Pods,
    outage: node_outage::Outage,
}

pub(crate) async fn run(size: Size, settings: &Settings, report: &mut Report) {
    report.scene(size.to_string());
    let mut cluster =
        Cluster::start(size, Template { engine: EngineKind::OpenVswitch, shares_definitions: false }).await;
    if settings.is_floor_only {
        start::without_controllers(&mut cluster).await;
    } else {
        cluster.controllers.start();
        cluster.controllers.wait_until_ready();
    }
    start_agents(&mut cluster).await;
    let measured = if settings.is_floor_only { None } else { Some(with_controllers(&mut cluster, report).await) };
    if !cluster.is_floor() {
        cluster.measure_floor().await;
    }
    let floor = measure(&mut cluster).await;
    rest::report_floor(report, &floor.rest);
    let rounds = measured.as_ref().map(|measured| measured.one.as_slice());
    change::report_floor(report, "row 1", rounds, &floor.one);
    if let Some(many) = &floor.many {
        let rounds = measured.as_ref().and_then(|measured| measured.many.as_deref());
        change::report_floor(report, "row 2", rounds, many);
    }
    pods::report_floor(report, measured.as_ref().map(|measured| &measured.pods), &floor.pods);
    node_outage::report_floor(report, &floor.outage);
    report.peak(cluster.peak());
}

async fn start_agents(cluster: &mut Cluster) {
    progress("agents start");
    let tokens = tokens::of_agents(&cluster.admin).await;
    let mut agents = Simulated::start(&cluster.server, tokens, cluster.size.nodes);
    assert!(agents.wait_until_synced(), "not all agents have reported");
    cluster.fleet = Fleet::Simulated(agents);
    cluster.settle(crate::cluster::QUIET).await;
}

async fn with_controllers(cluster: &mut Cluster, report: &mut Report) -> Rows {
    let started = start::with_controllers(cluster).await;
    start::report(report, &started, cluster.size.networks);
    let rows = measure(cluster).await;
    rest::report(report, &rows.rest);
    change::report_one(report, &rows.one);
    let size = cluster.size;
    report.one_change(&format!("{} nodes", size.nodes), size.networks, change::average(&rows.one));
    if let Some(many) = &rows.many {
        change::report_many(report, many, MANY);
    }
    pods::report(report, &rows.pods);
    node_outage::report(report, &rows.outage);
    let successions = leader_change::run(cluster).await;
    leader_change::report(report, successions);
    report.peak(cluster.peak());
    rows
}

async fn measure(cluster: &mut Cluster) -> Rows {
    let rest = rest::run(cluster).await;
    let one = change::run(cluster, 1).await;
    let many = if cluster.size.networks >= MANY { Some(change::run(cluster, MANY).await) } else { None };
    let pods = pods::run(cluster).await;
    let outage = node_outage::run(cluster).await;
    Rows { rest, one, many, pods, outage }
}
