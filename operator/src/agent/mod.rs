//! The agent: makes one node have what its `UserspaceNodeState` says, and keeps it so.
//!
//! [`watch`] and [`status`] are the two sides towards the API server, [`link`] and [`folder_watch`] those towards the node; [`wake`] waits for any of them,
//! and [`pass`] does the work: [`observe`], [`plan`], [`apply`], [`verify`], [`report`]. The loop itself needs no API server: it takes specs from one channel
//! and puts reports into another.

mod acting;
mod apply;
mod chronicle;
mod folder_watch;
mod guard;
mod link;
mod memory;
mod observe;
mod pass;
mod plan;
mod publish;
mod reason;
mod report;
mod retry;
pub mod spec;
mod status;
#[cfg(test)]
mod testing;
mod verify;
mod wake;
mod watch;

use crate::api_server;
use crate::error_chain::ErrorChain;
use chronicle::Chronicle;
use link::Link;
use memory::Memory;
use pass::{Node, Outcome};
use publish::Publisher;
use retry::Backoff;
use spec::{NodeSpec, Report};
use std::convert::Infallible;
use std::time::{Duration, Instant};
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tracing::Instrument;
use usnet_dataplane::journal::{self, Journal};
use usnet_dataplane::network_file::{self, NetworkFiles};
use usnet_dataplane::roots::Roots;
use wake::{Sources, Wake};

/// What failed is tried again after this, and then less and less often.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Options of `usnet agent`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The name of this node in the cluster.
    #[arg(long, env = "NODE_NAME")]
    pub node_name: String,
}

/// Why the agent cannot start. Once it runs, nothing ends it but a signal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no way to the API server.
    #[error(transparent)]
    ApiServer(#[from] api_server::Error),
    /// The journal cannot be used.
    #[error("the folder of attachment records cannot be used: is the node's state folder mounted, and writable?")]
    Journal(#[from] journal::Error),
    /// The network files cannot be used.
    #[error("the folder of network files cannot be used: is the node's run folder mounted, and writable?")]
    NetworkFiles(#[from] network_file::Error),
}

/// Runs the agent until it is dropped.
///
/// # Errors
/// When it cannot start.
pub async fn run(options: Options) -> Result<(), Error> {
    let span = tracing::info_span!("agent", node = options.node_name);
    let work = async {
        let client = api_server::client().await?;
        let (specs, specs_in_agent) = channel(None);
        let (statuses, statuses_in_writer) = channel(None);
        let (reports, reports_in_writer) = channel(None);
        let agent = Agent::new(&Roots::from_environment(), specs_in_agent, reports)?;
        let node = options.node_name;
        tokio::join!(
            watch::follow(client.clone(), node.clone(), watch::Subscribers { specs, statuses }),
            status::write(client, node, reports_in_writer, statuses_in_writer),
            agent.run(),
        );
        Ok(())
    };
    work.instrument(span).await
}

/// The loop of the agent, between a channel of specs and a channel of reports.
#[derive(Debug)]
pub struct Agent {
    node: Node,
    sources: Sources<Option<NodeSpec>, link::State>,
    reports: Sender<Option<Report>>,
    watches: [JoinHandle<()>; 2],
    backoff: Backoff,
    retry_at: Option<Instant>,
}

impl Agent {
    /// Takes over the node as an earlier agent left it. Nothing is changed before [`run`](Self::run). Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When a folder of ours cannot be used.
    pub fn new(
        roots: &Roots,
        specs: Receiver<Option<NodeSpec>>,
        reports: Sender<Option<Report>>,
    ) -> Result<Self, Error> {
        let memory = Memory::load(roots);
        let link = Link::connect(&roots.open_vswitch_socket);
        let (changes, folders) = channel(());
        let sources = Sources { specs, engine: link.states(), folders };
        let node = Node {
            spec: memory.spec(),
            memory,
            journal: Journal::open(roots)?,
            publisher: Publisher::take_over(NetworkFiles::new(roots))?,
            link,
            engine_socket: roots.open_vswitch_socket.clone(),
            chronicle: Chronicle::default(),
            failures: Vec::new(),
            spec_is_known: false,
        };
        let folders = [roots.attachments(), roots.networks()];
        let watches = folders.map(|folder| tokio::spawn(folder_watch::follow(folder, changes.clone())));
        let backoff = Backoff::new(FIRST_RETRY, LONGEST_RETRY);
        Ok(Self { node, sources, reports, watches, backoff, retry_at: None })
    }

    /// Works for ever.
    pub async fn run(mut self) -> Infallible {
        loop {
            let wake = self.sources.next(self.retry_at, self.node.link.look_again()).await;
            self.work(wake).await;
        }
    }

    async fn work(&mut self, wake: Wake) {
        let is_new = |spec: &&NodeSpec| self.node.spec.as_ref() != Some(*spec);
        let news = self.sources.specs.borrow().as_ref().filter(is_new).cloned();
        if let Some(spec) = news {
            self.node.take_spec(spec);
        }
        let result = self.node.pass(wake).await;
        self.node.chronicle.problem("pass", result.as_ref().err());
        let (report, retry) = match result {
            Ok(None) => return,
            Ok(Some(Outcome { report, retry })) => (Some(report), retry),
            Err(error) => {
                let last = self.reports.borrow().clone();
                (last.map(|report| report.spoiled(ErrorChain(&error).to_string())), true)
            }
        };
        self.reports.send_if_modified(|known| {
            let changed = *known != report;
            *known = report;
            changed
        });
        if !retry {
            self.backoff.reset();
            self.retry_at = None;
        } else if wake.retry || self.retry_at.is_none() {
            self.retry_at = Some(Instant::now() + self.backoff.wait());
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.watches.iter().for_each(JoinHandle::abort);
    }
}
