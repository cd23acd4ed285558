//! One cluster: API server, objects, controllers or the raw client in their place, and agents.

pub(crate) mod controllers;
pub(crate) mod installation;
pub(crate) mod kubeconfig;
pub(crate) mod networks;
pub(crate) mod objects;
pub(crate) mod raw_client;
pub(crate) mod tokens;

use std::time::{Duration, Instant};

use kube::Client;

use crate::agents::fleet::Fleet;
use crate::api_server::ApiServer;
use crate::measure::audit::Audit;
use crate::measure::process::{cpu_seconds, peak_mib};
use crate::measure::{Cpu, Figures, Peak, Window};
use crate::report::progress;
use crate::settings::Size;
use controllers::Controllers;
use kubeconfig::{client, write_kubeconfig};
use networks::NetworkStatuses;
use objects::Template;
use raw_client::RawClient;

const POLL: Duration = Duration::from_millis(50);
/// Nothing is written for so long once a phase is over. Counts of statuses alone may wait longer:
/// see [`COUNTS`].
pub(crate) const QUIET: Duration = Duration::from_secs(3);
/// Longer than the controller lets counts wait.
pub(crate) const COUNTS: Duration = Duration::from_secs(12);
/// Generous: everything here shares one machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

/// Who turns networks into compiled networks.
pub(crate) enum Writer {
    /// The program under test.
    Controllers,
    /// A client that writes the same and nothing else: the floor.
    RawClient(RawClient),
}

/// A cluster in which agents follow what is compiled.
pub(crate) struct Cluster {
    pub(crate) size: Size,
    pub(crate) template: Template,
    pub(crate) admin: Client,
    pub(crate) networks: NetworkStatuses,
    pub(crate) writer: Writer,
    pub(crate) audit: Audit,
    pub(crate) fleet: Fleet,
    pub(crate) controllers: Controllers,
    pub(crate) controller_token: String,
    // The last to go.
    pub(crate) server: ApiServer,
}

impl Cluster {
    /// etcd and kube-apiserver with what an installation applies, nodes and namespaces. No
    /// networks, no programs of usnet.
    pub(crate) async fn start(size: Size, template: Template) -> Self {
        progress("etcd and kube-apiserver start");
        let server = ApiServer::start();
        installation::apply(&server);
        let text = std::fs::read_to_string(server.admin_kubeconfig()).expect("a kubeconfig");
        let admin = client(serde_json::from_str(&text).expect("a kubeconfig")).await;
        progress(format_args!("{} nodes and {} namespaces are made", size.nodes, size.namespaces));
        objects::make_namespaces(&admin, size.namespaces).await;
        objects::make_nodes(&admin, size.nodes).await;
        let controller_token = tokens::issue(&admin, "usnet-controller", None).await;
        let kubeconfig = write_kubeconfig(&server, "controller", &controller_token);
        Self {
            size,
            template,
            networks: NetworkStatuses::follow(admin.clone()),
            admin,
            writer: Writer::Controllers,
            audit: Audit::of(&server.audit_log()),
            fleet: Fleet::None,
            controllers: Controllers::new(kubeconfig, server.folder.path()),
            controller_token,
            server,
        }
    }

    /// Ends the controllers and puts the raw client in their place.
    pub(crate) async fn measure_floor(&mut self) {
        self.controllers.end();
        let client = client(self.server.token_kubeconfig(&self.controller_token)).await;
        self.writer = Writer::RawClient(RawClient::new(client));
    }

    pub(crate) fn is_floor(&self) -> bool {
        matches!(self.writer, Writer::RawClient(_))
    }

    pub(crate) fn begin(&mut self) -> Window {
        self.audit.take();
        Window { started: Instant::now(), cpu: self.cpu() }
    }

    /// Waits until nothing is written any more, and says what the phase cost.
    pub(crate) async fn end(&mut self, window: Window, is_done: bool, quiet: Duration) -> Figures {
        let took = is_done.then(|| window.started.elapsed());
        self.settle(quiet).await;
        Figures { took, cpu: self.cpu() - window.cpu, writes: self.audit.take() }
    }

    /// Waits until nothing was written for so long, or for the limit.
    pub(crate) async fn settle(&mut self, quiet: Duration) {
        let (start, mut last) = (Instant::now(), Instant::now());
        while last.elapsed() < quiet && start.elapsed() < LIMIT {
            tokio::time::sleep(POLL).await;
            if self.audit.poll() {
                last = Instant::now();
            }
        }
    }

    pub(crate) fn cpu(&self) -> Cpu {
        Cpu {
            api_server: cpu_seconds(self.server.process()),
            etcd: cpu_seconds(self.server.etcd_process()),
            controllers: self.controllers.cpu_seconds(),
            agents: self.fleet.processes().into_iter().map(cpu_seconds).sum(),
        }
    }

    pub(crate) fn peak(&mut self) -> Peak {
        Peak {
            api_server: peak_mib(self.server.process()),
            etcd: peak_mib(self.server.etcd_process()),
            controller: self.controllers.peak_mib(),
            agents: self.fleet.processes().into_iter().map(peak_mib).sum(),
        }
    }

    /// Gives networks another MTU and waits until every node has it; says whether it came to that.
    pub(crate) async fn change(&mut self, names: &[String]) -> bool {
        let changed = objects::change(&self.admin, names).await;
        match &self.writer {
            Writer::RawClient(raw) => {
                let version = raw.change(&changed).await;
                self.fleet.wait_for(version, &self.admin).await
            }
            Writer::Controllers => {
                let nodes = self.size.nodes;
                let generations: Vec<_> = changed.iter().map(|it| (it.name.clone(), it.generation)).collect();
                self.networks
                    .wait(LIMIT, |all| generations.iter().all(|(name, it)| all.is_ready(name, *it, nodes)))
                    .await
            }
        }
    }
}
