//! The controller of policies under pods that start and end all the time: what it writes, what
//! that costs, and how long labels take to the slices of pods. The writes are compared with a
//! [`model`] of slices that are written at most once a second.
//!
//! - [`objects`]: the cluster before, with policies that select pods by labels;
//! - [`pods`]: pods that start, end and get other labels, and the agents' reports of them;
//! - [`slices`]: what watchers of slices see, and [`replay`]: the same writes by another client;
//! - [`figures`]: what is reported of these;
//! - [`controller`]: the process under test.

mod controller;
mod figures;
mod model;
mod objects;
mod pods;
mod replay;
mod slices;

use crate::agents::node_report;
use crate::cluster::kubeconfig::client;
use crate::cluster::objects::Template;
use crate::cluster::{Cluster, tokens};
use crate::measure::Cpu;
use crate::measure::audit::User;
use crate::report::{Report, progress};
use crate::settings::{Load, Size};
use controller::PolicyController;
use pods::Pods;
use slices::Slices;
use std::time::{Duration, Instant};
use usnet_crds::EngineKind;

const SLICES: &str = "userspacepodslices";
const LIMIT: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(100);
/// What the writes may be of those of the model.
const RATIO: f64 = 1.5;
/// What the API server's CPU may be of what it is with a raw client that writes the same.
const CPU_RATIO: f64 = 1.2;
/// Half of the limit of the Deployment.
const MEMORY_MIB: f64 = 256.0;

pub(crate) async fn run(load: Load, report: &mut Report) {
    report.scene(format!("policies: {load}"));
    let size = Size { nodes: load.nodes, networks: load.networks, namespaces: objects::NAMESPACES };
    let template = Template { engine: EngineKind::OpenVswitch, shares_definitions: true };
    let mut cluster = Cluster::start(size, template).await;
    objects::set_up(&mut cluster, load).await;
    let agents = node_report::reporters(&cluster.server, tokens::of_agents(&cluster.admin).await).await;
    progress(format_args!("{} pods are made", load.pods));
    let pods = Pods::start(cluster.admin.clone(), agents, load).await;
    let mut slices = Slices::follow(cluster.admin.clone());

    let mut controller = PolicyController::start(&cluster).await;
    first_slices(&mut cluster, &mut controller, &mut slices, load, report).await;
    let cpu = churn(&mut cluster, &mut controller, &mut slices, &pods, load, report).await;
    at_rest(&mut cluster, &mut controller, report).await;
    drop(controller);
    raw(&mut cluster, &mut slices, &pods, load, cpu, report).await;
}

/// The controller starts in a cluster with pods and policies.
async fn first_slices(
    cluster: &mut Cluster,
    controller: &mut PolicyController,
    slices: &mut Slices,
    load: Load,
    report: &mut Report,
) {
    report.row("the controller starts");
    let began = Instant::now();
    while slices.pods() < load.pods / 2 && began.elapsed() < LIMIT {
        controller.check();
        tokio::time::sleep(POLL).await;
    }
    let took = (slices.pods() >= load.pods / 2).then(|| began.elapsed());
    report.within("half of the pods are in slices", Duration::from_secs(60), took);
    cluster.settle(crate::cluster::QUIET).await;
    report.figure("pods in slices", slices.pods());
    let writes = cluster.audit.take();
    report.figure("slices", slices.count());
    report.figure("bytes of a slice, usually / largest", slices.sizes());
    report.figure(
        "writes of slices / of policies",
        format!("{} / {}", writes.count(User::Policies, SLICES), writes.count(User::Policies, "compiledpolicies")),
    );
    report.figure("CPU s / peak MiB of the controller", controller.cost());
    slices.take();
}

async fn churn(
    cluster: &mut Cluster,
    controller: &mut PolicyController,
    slices: &mut Slices,
    pods: &Pods,
    load: Load,
    report: &mut Report,
) -> Cpu {
    report.row("pods start and end");
    let window = cluster.begin();
    slices.record();
    let (began, cpu) = (Instant::now(), controller.cpu_seconds());
    // Pods that no selector concerns are in no slice.
    let share = (slices.pods() as f64 / load.pods as f64).min(1.0);
    let done = pods.churn(load, slices.delays()).await;
    let seconds = began.elapsed().as_secs_f64();
    let (cpu, seen, count) = (controller.cpu_seconds() - cpu, slices.take(), slices.count());
    let figures = cluster.end(window, true, crate::cluster::QUIET).await;
    controller.check();
    let [starts, ends] = [done.started, done.ended].map(|count| count as f64 / seconds);
    report.figure("pods that started / ended in a second", format!("{starts:.1} / {ends:.1}"));
    let namespaces = load.networks * objects::NAMESPACES;
    let concerned = model::Churn { slices: count, namespaces, starts: starts * share, ends: ends * share };
    let expected = model::writes(concerned);
    let written = figures.writes.count(User::Policies, SLICES) as f64 / seconds;
    report.at_most("writes of slices in a second", RATIO * expected, written, "");
    report.figure("the same by the model", format!("{expected:.1}"));
    report.at_most(
        "most writes of one slice in a second",
        1.0,
        figures.writes.most_in_a_second_of_one(User::Policies, SLICES) as f64,
        "",
    );
    figures::seen(report, &seen, seconds, expected, load);
    figures::large(report, &seen);
    report.figure("CPU of the controller, of a core", format!("{:.0} %", 100.0 * cpu / seconds));
    report.cpu("CPU s: API server / etcd / controllers / agents", figures.cpu);
    report.at_most("peak of the controller", MEMORY_MIB, controller.peak_mib(), " MiB");
    figures.cpu
}

/// Pods start and end as before, and a raw client writes the slices.
async fn raw(cluster: &mut Cluster, slices: &mut Slices, pods: &Pods, load: Load, measured: Cpu, report: &mut Report) {
    report.row("the same writes by a raw client");
    let Some(recording) = slices.recorded() else { return };
    let token = tokens::issue(&cluster.admin, "usnet-policies", None).await;
    let client = client(cluster.server.token_kubeconfig(&token)).await;
    recording.restore(&client).await;
    cluster.settle(crate::cluster::QUIET).await;
    let window = cluster.begin();
    let (_, written) = tokio::join!(pods.churn(load, slices.delays()), recording.replay(&client));
    let figures = cluster.end(window, true, crate::cluster::QUIET).await;
    report.figure("writes of slices", written);
    report.cpu("CPU s: API server / etcd / controllers / agents", figures.cpu);
    let ratio = measured.api_server / figures.cpu.api_server;
    report.at_most("CPU of the API server, of the raw client's", CPU_RATIO, ratio, " x");
}

async fn at_rest(cluster: &mut Cluster, controller: &mut PolicyController, report: &mut Report) {
    report.row("at rest for 20 s");
    let cpu = controller.cpu_seconds();
    cluster.audit.take();
    tokio::time::sleep(Duration::from_secs(20)).await;
    let writes = cluster.audit.take();
    report.at_most("writes", 0.0, writes.besides_lease() as f64, "");
    report.figure("CPU s of the controller", format!("{:.2}", controller.cpu_seconds() - cpu));
}
