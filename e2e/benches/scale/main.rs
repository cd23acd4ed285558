//! What the control plane costs with many nodes and networks: `make bench PART=scale`.
//!
//! Real etcd and kube-apiserver (RBAC, admission policies, API priority and fairness), the real
//! `usnet controller` (two replicas), and simulated agents that watch and report as real ones do,
//! each with a connection and a token of its own, in a process of their own. Each row of the table
//! of performance targets is a module of [`rows`]. Its floor is measured in the same run: the same
//! row with a raw client in the controllers' place ([`cluster::Writer`]), which writes the same
//! compiled network and nothing else.
//!
//! ```text
//! bench process ─┬─ etcd, kube-apiserver                       api_server.rs
//!                ├─ usnet controller, two replicas             cluster/controllers.rs
//!                ├─ simulated agents: this program once more   agents/
//!                └─ usnet agent, 20 real ones                  real_agents.rs
//! ```
//!
//! `USNET_SCALE` says what is run, as a list of sizes with commas:
//! - `200x1000`: 200 nodes and 1,000 networks, rows 1, 2, 4, 5, 7 and 8;
//! - `1000x1000x1000`: and 1,000 selected namespaces, row 3;
//! - `policies`: [the controller of policies](policies), with 20 pods/s, or as many as
//!   `policies@50` says;
//! - `definitions`: row 6; `real`: rows 1, 2 and 8 with 20 real agents and simulated VPPs;
//! - `full`: all of them at the sizes of the table, which takes an hour or more. The default takes
//!   less than half an hour on two cores.
//!
//! `USNET_SCALE_FLOOR_ONLY=1` measures floors alone (of sizes such as `200x1000` and of `real`),
//! without controllers. CPU figures are those of `/proc`, so that other load on the machine
//! stretches times and little else.
//!
//! Beside the aims each phase prints what was written, by user, verb and resource. Refused requests
//! (429 from priority and fairness, 504 for what an agent gave up) are listed apart: a thousand
//! agents that report at once are more than the API server queues for one service account.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark prints, and ends when its set-up fails"
)]

mod agents;
mod api_server;
mod cluster;
mod measure;
mod policies;
mod real_agents;
mod report;
mod rows;
mod scenes;
mod settings;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use report::Report;
use settings::{Scene, Settings};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

fn main() {
    allow_many_files();
    // Cargo passes `--bench` as well.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if let [role, file] = words.as_slice()
        && role == agents::protocol::ROLE
    {
        return agents::process::run(file.as_ref());
    }
    let settings = Settings::from_environment();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let mut report = Report::default();
    for scene in &settings.scenes {
        let is_whole = runtime.block_on(async {
            tokio::select! {
                () = run(*scene, &settings, &mut report) => true,
                () = interrupted() => false,
            }
        });
        if !is_whole {
            eprintln!("interrupted");
            std::process::exit(130);
        }
    }
    report.summary();
}

async fn run(scene: Scene, settings: &Settings, report: &mut Report) {
    match scene {
        Scene::Networks(size) => scenes::networks::run(size, settings, report).await,
        Scene::Sizes(size) => scenes::sizes::run(size, report).await,
        Scene::Definitions => scenes::definitions::run(report).await,
        Scene::Policies(load) => policies::run(load, report).await,
        Scene::RealAgents => scenes::real::run(settings, report).await,
    }
}

/// The benchmark was interrupted: what it started is ended with the scene that is dropped.
async fn interrupted() {
    let mut terminate = signal(SignalKind::terminate()).expect("a handler of SIGTERM");
    let mut interrupt = signal(SignalKind::interrupt()).expect("a handler of SIGINT");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Each agent has up to three connections.
fn allow_many_files() {
    const WANTED: u64 = 65_536;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("the limit of open files");
    let raised = setrlimit(Resource::RLIMIT_NOFILE, WANTED, hard.max(WANTED));
    raised.or_else(|_| setrlimit(Resource::RLIMIT_NOFILE, hard, hard)).expect("more open files");
}
