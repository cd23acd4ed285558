//! One agent.

use super::agent_state::AgentState;
use super::counters::Counters;
use super::protocol::Attachment;
use super::report_schedule::ReportSchedule;
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

/// A request to attach the interface of a pod.
pub(super) struct AttachRequest {
    pub(super) attachment: Attachment,
    /// Receives a message when the pod has been reported.
    pub(super) done: oneshot::Sender<()>,
}

enum WatchEvent {
    State(Event<UserspaceNodeState>),
    Network(Event<CompiledNetwork>),
}

/// One agent.
pub(super) struct Agent {
    client: Client,
    node: String,
    shared: Arc<Counters>,
    reported: Arc<AtomicU64>,
    state: AgentState,
    schedule: ReportSchedule,
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
            state: AgentState::default(),
            schedule: ReportSchedule::default(),
            wait: FIRST_WAIT,
            since: Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default(),
            written: None,
            unreported: Vec::new(),
            lists_under_way: 2,
        }
    }

    /// Runs until the process exits. The permit is released after the first lists.
    pub(super) async fn run(mut self, mut requests: UnboundedReceiver<AttachRequest>, permit: OwnedSemaphorePermit) {
        let mut permit = Some(permit);
        let mut events = self.watch();
        loop {
            let due = self.schedule.due();
            let report = async move {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                Some(event) = events.next() => {
                    if self.apply(event) {
                        self.schedule.changed(Instant::now());
                    }
                    if self.lists_under_way == 0 {
                        permit = None;
                    }
                }
                Some(AttachRequest { attachment, done }) = requests.recv() => {
                    self.state.attach(attachment);
                    self.unreported.push(done);
                    self.schedule.changed(Instant::now());
                }
                () = report => self.report().await,
            }
            let _ = &permit;
        }
    }

    fn watch(&self) -> BoxStream<'static, WatchEvent> {
        // Watches do not all end at the same time, as with real agents.
        let config = || Config::default().timeout(fastrand::u32(WATCH_SECONDS));
        let own = config().fields(&format!("metadata.name={}", self.node));
        let states = watcher(Api::<UserspaceNodeState>::all(self.client.clone()), own);
        let networks = watcher(Api::<CompiledNetwork>::all(self.client.clone()), config());
        // The stream backs off after errors, which need no other handling.
        let states = states.default_backoff().filter_map(async |event| event.ok().map(WatchEvent::State));
        let networks = networks.default_backoff().filter_map(async |event| event.ok().map(WatchEvent::Network));
        select(states.boxed(), networks.boxed()).boxed()
    }

    /// Applies an event, and returns whether there is something to report.
    fn apply(&mut self, event: WatchEvent) -> bool {
        match event {
            WatchEvent::State(Event::Apply(state) | Event::InitApply(state)) => self.state.set_state(state),
            WatchEvent::State(Event::InitDone) => {
                self.lists_under_way = self.lists_under_way.saturating_sub(1);
                false
            }
            WatchEvent::State(Event::Init | Event::Delete(_)) => false,
            WatchEvent::Network(Event::Init) => {
                self.state.begin_list();
                false
            }
            WatchEvent::Network(Event::InitApply(network)) => {
                self.state.list(network);
                false
            }
            WatchEvent::Network(Event::InitDone) => {
                self.lists_under_way = self.lists_under_way.saturating_sub(1);
                self.state.end_list()
            }
            WatchEvent::Network(Event::Apply(network)) => self.state.set_network(network),
            WatchEvent::Network(Event::Delete(network)) => self.state.remove_network(&network.name_any()),
        }
    }

    async fn report(&mut self) {
        let Some(status) = self.state.status(self.since).filter(|status| self.written.as_ref() != Some(status)) else {
            return self.schedule.skip();
        };
        self.schedule.reported(Instant::now());
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
                self.schedule.failed(Instant::now(), self.wait.mul_f64(1.0 + fastrand::f64() / 2.0));
                self.wait = (self.wait * 2).min(LONGEST_WAIT);
            }
        }
    }
}

/// Writes a status by server-side apply, as the real agent does, and returns the size of the
/// request's body.
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
