//! The controller itself against a real API server: one network onto many nodes, memory, and what it does when there is nothing to do.

use std::env;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kube::api::{Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::json;
use tokio::runtime::Builder;
use usnet_crds::UserspaceNetwork;

use crate::api_server::ApiServer;
use crate::audit::Audit;
use crate::meter::Meter;
use crate::{agents, memory, report};

/// Who the controller is to the API server.
pub(crate) const CONTROLLER: &str = "usnet-controller";
const NODES: usize = 1000;
const NETWORKS: usize = 100;
const IDLE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(300);
/// Generous: everything here shares one machine.
const LIMIT: Duration = Duration::from_secs(900);

/// The controller; dropping it ends it.
struct Controller(Child);

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn run() {
    let networks = env::var("USNET_SCALE_NETWORKS").ok().and_then(|count| count.parse().ok()).unwrap_or(NETWORKS);
    println!("\nThe controller against kube-apiserver, {networks} networks x {NODES} simulated nodes");
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let server = ApiServer::start();
    let crds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/crd");
    server.kubectl(&["apply", "--server-side", "-k", &crds.display().to_string()]);
    server.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
    let client = runtime.block_on(client(&server.folder.path().join("admin.kubeconfig")));
    let start = Instant::now();
    runtime.block_on(async {
        agents::make_nodes(&client, NODES).await;
        agents::make_networks(&client, networks).await;
    });
    report("objects made in", format!("{:.1} s", start.elapsed().as_secs_f64()));

    let (meter, address) = Meter::before(server.address);
    let mut audit = Audit::of(&server.audit_log());
    let controller = start_controller(&server.kubeconfig(CONTROLLER, address), server.folder.path());
    let process = controller.0.id().to_string();
    let mut stage = Stage { meter: &meter, audit: &mut audit, process: &process };

    let start = Instant::now();
    runtime.block_on(until_ready(&client, networks));
    stage.report("start: every network onto every node", start.elapsed());
    thread::sleep(Duration::from_secs(5));
    stage.skip();
    thread::sleep(IDLE);
    stage.report("idle for a minute (aim: no writes but renewals of the lease)", IDLE);

    let start = Instant::now();
    runtime.block_on(change_one(&client));
    runtime.block_on(until_ready(&client, networks));
    stage.report("one network changes on every node", start.elapsed());
}

/// What is measured of the controller from one point to the next.
struct Stage<'a> {
    meter: &'a Meter,
    audit: &'a mut Audit,
    process: &'a str,
}

impl Stage<'_> {
    fn skip(&mut self) {
        self.audit.writes();
        self.meter.take();
    }

    fn report(&mut self, what: &str, took: Duration) {
        let (sent, received) = self.meter.take();
        let writes = self.audit.writes();
        let (now, most) = memory(self.process);
        println!(" {what}");
        report("  time", format!("{:.1} s", took.as_secs_f64()));
        report("  writes", writes.values().sum::<usize>());
        for (kind, count) in writes {
            report(&format!("    {kind}"), count);
        }
        report("  bytes sent", sent);
        report("  bytes received", received);
        report("  resident memory of the controller, now / at most", format!("{now:.0} / {most:.0} MiB"));
    }
}

async fn client(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config =
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.expect("a configuration");
    Client::try_from(config).expect("a client")
}

fn start_controller(kubeconfig: &Path, folder: &Path) -> Controller {
    let program =
        Path::new(&env::var_os("USNET_BINARIES").expect("USNET_BINARIES names the folder of usnet: use `make bench`"))
            .join("usnet");
    let log = std::fs::File::create(folder.join("controller.log")).expect("a log");
    let mut command = Command::new(program);
    command.args(["controller", "--identity", "bench"]).env("KUBECONFIG", kubeconfig).stdin(Stdio::null());
    command.stdout(log.try_clone().expect("a log")).stderr(log);
    Controller(command.spawn().expect("the controller starts"))
}

/// The agents answer until every network is on every node.
async fn until_ready(client: &Client, networks: usize) {
    let start = Instant::now();
    loop {
        let answers = agents::answer(client).await;
        if answers == 0 && agents::ready(client, NODES as i64).await == networks {
            return;
        }
        assert!(start.elapsed() < LIMIT, "not ready on all nodes within {} s", LIMIT.as_secs());
        tokio::time::sleep(PAUSE).await;
    }
}

async fn change_one(client: &Client) {
    let api: Api<UserspaceNetwork> = Api::all(client.clone());
    let patch = Patch::Merge(json!({"spec": {"bridge": {"mtu": 9000}}}));
    api.patch("network-0005", &PatchParams::default(), &patch).await.expect("a network is changed");
}
