//! One agent.

use super::counters::Counters;
use super::known::Known;
use super::pace::Pace;
use super::protocol::Attachment;
use futures::StreamExt;
use futures::stream::{BoxStream, select};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};
use usnet_crds::node_selection::resource_version;
use usnet_crds::{CompiledNetwork, UserspaceNodeState, UserspaceNodeStateStatus};

const FIELD_MANAGER: &str = "usnet-agent";
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const WATCH_SECONDS: std::ops::Range<u32> = 200..290;

/// A pod to start.
pub(super) struct Order {
    pub(super) attachment: Attachment,
    /// Signalled once the pod is reported.
    pub(super) done: oneshot::Sender<()>,
}

enum News {
    State(Event<UserspaceNodeState>),
    Network(Event<CompiledNetwork>),
}

/// One agent.
pub(super) struct Agent {
    client: Client,
    node: String,
    shared: Arc<Counters>,
    reported: Arc<AtomicU64>,
    known: Known,
    pace: Pace,
    wait: Duration,
    since: Timestamp,
    written: Option<UserspaceNodeStateStatus>,
    unreported: Vec<oneshot::Sender<()>>,
    lists_under_way: usize,
}

impl Agent {
    pub(super) fn new(client: Client, node: String, shared: Arc<Counters>, reported: Arc<AtomicU64>) -> Self {
        Self {
            client,
            node,
            shared,
            reported,
            known: Known::default(),
            pace: Pace::default(),
            wait: FIRST_WAIT,
            since: Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default(),
            written: None,
            unreported: Vec::new(),
            lists_under_way: 2,
        }
    }

    /// Runs for as long as the process. The permit is given back once all is listed.
    pub(super) async fn run(mut self, mut orders: UnboundedReceiver<Order>, permit: OwnedSemaphorePermit) {
        let mut permit = Some(permit);
        let mut news = self.watch();
        loop {
            let due = self.pace.due();
            let report = async move {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                Some(event) = news.next() => {
                    if self.take(event) {
                        self.pace.changed(Instant::now());
                    }
                    if self.lists_under_way == 0 {
                        permit = None;
                    }
                }
                Some(Order { attachment, done }) = orders.recv() => {
                    self.known.attach(attachment);
                    self.unreported.push(done);
                    self.pace.changed(Instant::now());
                }
                () = report => self.report().await,
            }
            let _ = &permit;
        }
    }

    fn watch(&self) -> BoxStream<'static, News> {
        // Not all at the same moment, as the real ones.
        let config = || Config::default().timeout(fastrand::u32(WATCH_SECONDS));
        let own = config().fields(&format!("metadata.name={}", self.node));
        let states = watcher(Api::<UserspaceNodeState>::all(self.client.clone()), own);
        let networks = watcher(Api::<CompiledNetwork>::all(self.client.clone()), config());
        // The stream waits longer and longer after errors, which need no other answer.
        let states = states.default_backoff().filter_map(async |event| event.ok().map(News::State));
        let networks = networks.default_backoff().filter_map(async |event| event.ok().map(News::Network));
        select(states.boxed(), networks.boxed()).boxed()
    }

    /// Says whether there is something to report.
    fn take(&mut self, news: News) -> bool {
        match news {
            News::State(Event::Apply(state) | Event::InitApply(state)) => self.known.set_state(state),
            News::State(Event::InitDone) => {
                self.lists_under_way = self.lists_under_way.saturating_sub(1);
                false
            }
            News::State(Event::Init | Event::Delete(_)) => false,
            News::Network(Event::Init) => {
                self.known.begin_list();
                false
            }
            News::Network(Event::InitApply(network)) => {
                self.known.list(network);
                false
            }
            News::Network(Event::InitDone) => {
                self.lists_under_way = self.lists_under_way.saturating_sub(1);
                self.known.end_list()
            }
            News::Network(Event::Apply(network)) => self.known.set_network(network),
            News::Network(Event::Delete(network)) => self.known.remove_network(&network.name_any()),
        }
    }

    async fn report(&mut self) {
        let Some(status) = self.known.status(self.since).filter(|status| self.written.as_ref() != Some(status)) else {
            return self.pace.skip();
        };
        self.pace.reported(Instant::now());
        match patch(&self.client, &self.node, &status).await {
            Some(bytes) => {
                self.wait = FIRST_WAIT;
                self.shared.wrote(bytes);
                let version = resource_version(status.programmed_through.as_deref());
                self.reported.store(version.max(1), Ordering::Relaxed);
                self.written = Some(status);
                for done in self.unreported.drain(..) {
                    let _ = done.send(());
                }
            }
            None => {
                self.shared.failed();
                self.pace.failed(Instant::now(), self.wait.mul_f64(1.0 + fastrand::f64() / 2.0));
                self.wait = (self.wait * 2).min(LONGEST_WAIT);
            }
        }
    }
}

/// Writes a status by server-side apply, as the real agent does; gives the size of the request's
/// body.
pub(super) async fn patch(client: &Client, node: &str, status: &UserspaceNodeStateStatus) -> Option<usize> {
    let api: Api<UserspaceNodeState> = Api::all(client.clone());
    let body = json!({
        "apiVersion": UserspaceNodeState::api_version(&()),
        "kind": UserspaceNodeState::kind(&()),
        "metadata": {"name": node},
        "status": status,
    });
    let length = body.to_string().len();
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let body = Patch::Apply(&body);
    match timeout(REQUEST_TIMEOUT, api.patch_status(node, &parameters, &body)).await {
        Ok(Ok(_)) => Some(length),
        Ok(Err(error)) => {
            // Each kind of trouble once would be enough, but nothing of it is expected.
            if !matches!(&error, kube::Error::Api(status) if status.code == 429) {
                eprintln!("    ... agent of {node}: {error}");
            }
            None
        }
        Err(_) => None,
    }
}
