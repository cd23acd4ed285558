//! Pods that start, end and get other labels.

use super::objects::{APPS, NAMESPACES, NETWORKS_OF_NODE, ROLES, app};
use super::slices::Delays;
use crate::agents::node_report::Reporter;
use crate::cluster::objects::{AT_ONCE, namespace_name, network_name, node_name};
use crate::settings::Load;
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval};
use usnet_crds::node_state::PolicyPod;

/// A pod that runs.
#[derive(Clone, Debug)]
struct Running {
    number: usize,
    namespace: String,
    name: String,
    uid: String,
    node: usize,
}

/// What became of pods.
pub(super) struct Done {
    pub(super) started: usize,
    pub(super) ended: usize,
}

/// All pods of the cluster.
pub(super) struct Pods(Arc<Shared>);

struct Shared {
    client: Client,
    reporters: Vec<Reporter>,
    load: Load,
    running: Mutex<VecDeque<Running>>,
    next: AtomicUsize,
    ended: AtomicUsize,
}

impl Pods {
    /// Makes all pods, and has the agents of their nodes report them.
    pub(super) async fn start(client: Client, reporters: Vec<Reporter>, load: Load) -> Self {
        let (running, next, ended) = (Mutex::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        let shared = Arc::new(Shared { client, reporters, load, running, next, ended });
        let starts = (0..load.pods).map(|_| shared.start());
        let pods: Vec<(Running, PolicyPod)> = stream::iter(starts).buffer_unordered(AT_ONCE).collect().await;
        for (pod, reported) in &pods {
            shared.reporters[pod.node].hold(reported.clone());
        }
        for reporter in &shared.reporters {
            reporter.flush().await;
        }
        shared.running().extend(pods.into_iter().map(|(pod, _)| pod));
        Self(shared)
    }

    /// Pods start and end, as many of each, and one of them gets another label each second.
    pub(super) async fn churn(&self, load: Load, delays: Arc<Delays>) -> Done {
        let before = [&self.0.next, &self.0.ended].map(|count| count.load(Ordering::Relaxed));
        let mut ticks = interval(Duration::from_secs(1) / u32::try_from(load.pods_per_second).expect("few"));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (end, mut tasks, mut count) = (Instant::now() + load.duration, tokio::task::JoinSet::new(), 0);
        while Instant::now() < end {
            ticks.tick().await;
            if tasks.len() < 4 * AT_ONCE {
                tasks.spawn(Arc::clone(&self.0).replace(Arc::clone(&delays)));
            }
            if count % load.pods_per_second == 0 {
                tasks.spawn(Arc::clone(&self.0).relabel(Arc::clone(&delays)));
            }
            while tasks.try_join_next().is_some() {}
            count += 1;
        }
        while tasks.join_next().await.is_some() {}
        let [started, ended] = [&self.0.next, &self.0.ended].map(|count| count.load(Ordering::Relaxed));
        Done { started: started - before[0], ended: ended - before[1] }
    }
}

impl Shared {
    fn running(&self) -> std::sync::MutexGuard<'_, VecDeque<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a pod out, whichever one.
    fn any(&self) -> Option<Running> {
        let mut running = self.running();
        let place = fastrand::usize(..running.len().max(1));
        running.swap_remove_back(place)
    }

    async fn start(&self) -> (Running, PolicyPod) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let node = fastrand::usize(..self.load.nodes);
        let namespace = namespace_name(number % NAMESPACES);
        let name = format!("pod-{number}");
        let labels = json!({"app": app(number / NAMESPACES % APPS), "role": ROLES[number % 2],
            "pod-template-hash": format!("{:010x}", number % 400)});
        let pod = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"nodeName": node_name(node), "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 0, "containers": [{"name": "a", "image": "a"}]},
        });
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let made = api.create(&PostParams::default(), &pod).await.expect("a pod is made");
        let uid = made.uid().unwrap_or_default();
        let network = network_name((node + number % NETWORKS_OF_NODE) % self.load.networks);
        // No two pods have one address, also not later.
        let address = Ipv4Addr::from(0x0a00_0000 + u32::try_from(number).expect("few"));
        let reported = PolicyPod { network, uid: uid.clone(), addresses: [address.into()].into() };
        (Running { number, namespace, name, uid, node }, reported)
    }

    /// A pod ends, and another one starts.
    async fn replace(self: Arc<Self>, delays: Arc<Delays>) {
        if let Some(ended) = self.any() {
            let api: Api<Pod> = Api::namespaced(self.client.clone(), &ended.namespace);
            let _ = api.delete(&ended.name, &DeleteParams::default().grace_period(0)).await;
            self.ended.fetch_add(1, Ordering::Relaxed);
            self.reporters[ended.node].release(&ended.uid).await;
        }
        let (pod, reported) = self.start().await;
        self.reporters[pod.node].report(reported).await;
        delays.started(&pod.uid);
        self.running().push_back(pod);
    }

    async fn relabel(self: Arc<Self>, delays: Arc<Delays>) {
        let Some(pod) = self.any() else { return };
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
        let labels = json!({"metadata": {"labels": {"role": ROLES[(pod.number + 1) % 2]}}});
        if api.patch(&pod.name, &PatchParams::default(), &Patch::Merge(labels)).await.is_ok() {
            delays.relabelled(&pod.uid);
        }
        // It is not chosen again.
    }
}
