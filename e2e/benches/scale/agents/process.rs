//! The process of agents itself.

use super::agent::{Agent, AttachRequest};
use super::counters::{Counters, client};
use super::protocol::{Answer, Attachment, Command, Identity, Start};
use super::silent::{self, Silent};
use futures::future::join_all;
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, oneshot};

/// So many agents list at once when the process starts, as a rolling update would have them.
const STARTING: usize = 50;
const LIMIT: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(20);

/// Runs until the benchmark closes standard input.
pub(crate) fn run(file: &Path) {
    let start: Start = serde_json::from_slice(&fs::read(file).expect("a file")).expect("a file");
    let (lines, commands) = unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let _ = lines.send(serde_json::from_str(&line).expect("a command"));
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { Agents::start(start).serve(commands).await });
}

struct Agents {
    kubeconfig: Value,
    silent: Vec<Identity>,
    shared: Arc<Counters>,
    requests: HashMap<String, UnboundedSender<AttachRequest>>,
    /// The resourceVersion that each has reported; 0 before its first report.
    reported: Vec<Arc<AtomicU64>>,
}

impl Agents {
    fn start(start: Start) -> Self {
        let Start { kubeconfig, agents, silent } = start;
        let shared = Arc::<Counters>::default();
        let mut all = Self { kubeconfig, silent, shared, requests: HashMap::new(), reported: Vec::new() };
        let starting = Arc::new(Semaphore::new(STARTING));
        for identity in agents {
            let (sender, requests) = unbounded_channel();
            let reported = Arc::<AtomicU64>::default();
            all.requests.insert(identity.node.clone(), sender);
            all.reported.push(Arc::clone(&reported));
            let (shared, starting, kubeconfig) =
                (Arc::clone(&all.shared), Arc::clone(&starting), all.kubeconfig.clone());
            tokio::spawn(async move {
                let permit = starting.acquire_owned().await.expect("a turn");
                let client = client(kubeconfig, &identity.token).await;
                Agent::new(client, identity.node, shared, reported).run(requests, permit).await;
            });
        }
        all
    }

    async fn serve(self, mut commands: UnboundedReceiver<Command>) {
        while let Some(command) = commands.recv().await {
            let is_done = match command {
                Command::WaitUntilSynced => self.wait_for(1).await,
                Command::WaitForVersion(version) => self.wait_for(version).await,
                Command::Attach(attachments) => self.attach(attachments).await,
                Command::Report { version, networks, generations } => {
                    let generation = |node: &str| generations.get(node).copied().unwrap_or(1);
                    let silent = Silent { kubeconfig: &self.kubeconfig, agents: &self.silent, shared: &self.shared };
                    silent.report(|node| silent::status_of(generation(node), version, networks)).await
                }
            };
            let answer = Answer { is_done, stats: self.shared.take() };
            println!("{}", serde_json::to_string(&answer).expect("an answer"));
        }
    }

    async fn wait_for(&self, version: u64) -> bool {
        let start = Instant::now();
        while self.reported.iter().any(|reported| reported.load(Ordering::Relaxed) < version) {
            if start.elapsed() > LIMIT {
                return false;
            }
            tokio::time::sleep(POLL).await;
        }
        true
    }

    async fn attach(&self, attachments: Vec<Attachment>) -> bool {
        let order = |attachment: Attachment| {
            let (done, is_done) = oneshot::channel();
            let requests = self.requests.get(&attachment.node).expect("an agent");
            requests.send(AttachRequest { attachment, done }).expect("the agent runs");
            is_done
        };
        let waits = attachments.into_iter().map(order).collect::<Vec<_>>();
        tokio::time::timeout(LIMIT, join_all(waits)).await.is_ok()
    }
}
