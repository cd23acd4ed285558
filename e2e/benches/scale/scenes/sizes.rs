//! Row 3: how large objects, etcd and the controller get. A few agents watch; the others report
//! once, so that the whole content is there.

use crate::agents::fleet::Fleet;
use crate::agents::simulated::Simulated;
use crate::cluster::objects::{Template, make_networks, network_name};
use crate::cluster::{Cluster, QUIET, tokens};
use crate::measure::etcd;
use crate::measure::objects::bytes_of;
use crate::report::{Report, progress};
use crate::rows::leader_change;
use crate::settings::Size;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use std::collections::BTreeMap;
use std::time::Duration;
use usnet_crds::node_selection::resource_version;
use usnet_crds::{CompiledNetwork, EngineKind, UserspaceNodeState};

const WATCHING: usize = 20;
const LIMIT: Duration = Duration::from_secs(1200);
const LARGEST: f64 = 100.0 * 1024.0;
const CONTROLLER_MIB: f64 = 256.0;
const ETCD_MIB: f64 = 100.0;

pub(crate) async fn run(size: Size, report: &mut Report) {
    report.scene(size.to_string());
    report.row("row 3: sizes");
    // A definition in each namespace of each network is row 6; here they would be most of the
    // content, which does not count them.
    let template = Template { engine: EngineKind::OpenVswitch, shares_definitions: true };
    let mut cluster = Cluster::start(size, template).await;
    cluster.controllers.start();
    cluster.controllers.wait_until_ready();
    progress("agents start");
    let tokens = tokens::of_agents(&cluster.admin).await;
    let mut agents = Simulated::start(&cluster.server, tokens, WATCHING);
    assert!(agents.wait_until_synced(), "not all agents have reported");
    progress("networks are made");
    make_networks(&cluster.admin, (0..size.networks).map(|index| template.network(&network_name(index)))).await;
    let version = compiled_version(&mut cluster).await;
    progress("all other nodes report");
    let generations = generations(&cluster).await;
    assert!(agents.report(version, size.networks, generations), "not all agents have reported");
    cluster.fleet = Fleet::Simulated(agents);
    if !cluster.networks.wait(LIMIT, |all| all.count_ready(size.nodes) == size.networks).await {
        report.not_done("all networks ready on all nodes");
    }
    cluster.settle(QUIET).await;
    report_sizes(&mut cluster, report).await;
    let successions = leader_change::run(&mut cluster).await;
    leader_change::report(report, successions);
    report.row("row 3: after both controllers were restarted");
    cluster.controllers.wait_until_ready();
    cluster.settle(QUIET).await;
    let peak = cluster.peak();
    report.peak(peak);
    report.at_most("peak of the controller", CONTROLLER_MIB, peak.controller, " MiB");
}

/// Of all node states.
async fn generations(cluster: &Cluster) -> BTreeMap<String, i64> {
    let api: Api<UserspaceNodeState> = Api::all(cluster.admin.clone());
    let states = api.list(&ListParams::default()).await.expect("node states are listed").items;
    let generation = |state: UserspaceNodeState| (state.name_any(), state.metadata.generation.unwrap_or_default());
    states.into_iter().map(generation).collect()
}

/// Waits until all networks are compiled; gives the highest resourceVersion.
async fn compiled_version(cluster: &mut Cluster) -> u64 {
    let api: Api<CompiledNetwork> = Api::all(cluster.admin.clone());
    let start = std::time::Instant::now();
    loop {
        cluster.settle(QUIET).await;
        let compiled = api.list(&ListParams::default()).await.expect("compiled networks are listed").items;
        let whole = |network: &&CompiledNetwork| network.spec.namespaces.names.len() == cluster.size.namespaces;
        if compiled.iter().filter(whole).count() == cluster.size.networks {
            let version = |network: &CompiledNetwork| resource_version(network.metadata.resource_version.as_deref());
            return compiled.iter().map(version).max().unwrap_or_default();
        }
        assert!(start.elapsed() < LIMIT, "not all networks are compiled");
    }
}

async fn report_sizes(cluster: &mut Cluster, report: &mut Report) {
    for resource in ["userspacenetworks", "compilednetworks", "userspacenodestates"] {
        let bytes = bytes_of(&cluster.admin, resource).await;
        report.at_most(&format!("bytes of the largest of {resource}"), LARGEST, bytes.largest as f64, "");
        let mib = bytes.all as f64 / 1024.0 / 1024.0;
        report.figure(&format!("all {} {resource}", bytes.count), format!("{mib:.1} MiB"));
    }
    report.figure("etcd with old revisions", format!("{:.1} MiB", etcd::in_use_mib(cluster.server.etcd)));
    report.at_most("etcd's content", ETCD_MIB, etcd::content_mib(cluster.server.etcd), " MiB");
    let peak = cluster.peak();
    report.peak(peak);
    report.at_most("peak of the controller", CONTROLLER_MIB, peak.controller, " MiB");
}
