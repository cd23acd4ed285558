//! Row 6: definitions are written by the hundred thousand, and meanwhile another network is
//! created.

use crate::agents::fleet::Fleet;
use crate::agents::simulated::Simulated;
use crate::cluster::objects::{Template, make_networks, network_name};
use crate::cluster::{Cluster, LIMIT, QUIET, tokens};
use crate::measure::audit::User;
use crate::report::{Report, progress};
use crate::settings::Size;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use std::time::{Duration, Instant};
use usnet_crds::EngineKind;

const SIZE: Size = Size { nodes: 10, networks: 100, namespaces: 1000 };
const TEMPLATE: Template = Template { engine: EngineKind::OpenVswitch, shares_definitions: false };
const OTHERS: usize = 5;
const AIM: Duration = Duration::from_secs(2);
/// So many definitions are written before the other networks come.
const UNDER_WAY: usize = 200;
const DEFINITIONS: &str = "network-attachment-definitions";

pub(crate) async fn run(report: &mut Report) {
    report.scene(format!("definitions: {SIZE}"));
    let mut cluster = Cluster::start(SIZE, TEMPLATE).await;
    cluster.controllers.start();
    cluster.controllers.wait_until_ready();
    let tokens = tokens::of_agents(&cluster.admin).await;
    let mut agents = Simulated::start(&cluster.server, tokens, SIZE.nodes);
    assert!(agents.wait_until_synced(), "not all agents have reported");
    cluster.fleet = Fleet::Simulated(agents);
    make_other_namespace(&cluster).await;
    cluster.settle(QUIET).await;

    report.row("row 6: another network, while nothing else happens");
    for index in 0..OTHERS {
        let took = other_network(&mut cluster, &format!("calm-{index}")).await;
        report.within("until it is ready", AIM, took);
    }
    report.row(format!("row 6: another network, while {} definitions are written", SIZE.networks * SIZE.namespaces));
    progress("definitions are written");
    cluster.audit.take();
    make_networks(&cluster.admin, (0..SIZE.networks).map(|index| TEMPLATE.network(&network_name(index)))).await;
    wait_until_under_way(&mut cluster).await;
    let start = Instant::now();
    cluster.audit.take();
    for index in 0..OTHERS {
        let took = other_network(&mut cluster, &format!("busy-{index}")).await;
        report.within("until it is ready", AIM, took);
    }
    let written = definitions(&mut cluster);
    report.figure("definitions written meanwhile", written);
    report.figure("in a second", format!("{:.0}", written as f64 / start.elapsed().as_secs_f64()));
    if written == 0 {
        report.not_done("definitions were being written all the time");
    }
    report.peak(cluster.peak());
}

/// A namespace that the hundred networks do not select.
async fn make_other_namespace(cluster: &Cluster) {
    let api: Api<Namespace> = Api::all(cluster.admin.clone());
    let object = json!({"metadata": {"name": "other", "labels": {"team": "b"}}});
    let namespace = serde_json::from_value(object).expect("a namespace");
    api.create(&PostParams::default(), &namespace).await.expect("a namespace is made");
}

async fn other_network(cluster: &mut Cluster, name: &str) -> Option<Duration> {
    let mut network = TEMPLATE.network(name);
    network.spec.namespace_selector.match_labels = Some([("team".to_owned(), "b".to_owned())].into());
    let start = Instant::now();
    make_networks(&cluster.admin, [network]).await;
    let is_ready = cluster.networks.wait(LIMIT, |all| all.is_ready(name, 1, SIZE.nodes)).await;
    is_ready.then(|| start.elapsed())
}

async fn wait_until_under_way(cluster: &mut Cluster) {
    let (start, mut written) = (Instant::now(), 0);
    while written < UNDER_WAY && start.elapsed() < LIMIT {
        tokio::time::sleep(Duration::from_millis(100)).await;
        written += definitions(cluster);
    }
}

/// Definitions written since the audit log was read last.
fn definitions(cluster: &mut Cluster) -> usize {
    cluster.audit.take().count(User::Controller, DEFINITIONS)
}
