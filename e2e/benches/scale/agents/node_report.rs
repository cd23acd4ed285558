//! Reports of pods on networks with policies, from the process of the benchmark itself.

use super::agent::patch;
use super::counters::client;
use super::silent::status_of;
use crate::api_server::ApiServer;
use kube::Client;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use usnet_crds::node_state::PolicyPod;

/// How long an agent collects changes of pods.
const COLLECT: Duration = Duration::from_millis(100);
const TRIES: usize = 20;

/// The agent of a node, which reports its pods and nothing else.
pub(crate) struct Reporter {
    client: Client,
    node: String,
    pods: Mutex<BTreeMap<String, PolicyPod>>,
    /// Held while a report is on its way.
    turn: tokio::sync::Mutex<()>,
}

/// One for each node, in the order of their names.
pub(crate) async fn reporters(server: &ApiServer, tokens: Vec<(String, String)>) -> Vec<Reporter> {
    let mut all = Vec::new();
    for (node, token) in tokens {
        let client = client(server.token_kubeconfig(""), &token).await;
        all.push(Reporter { client, node, pods: Mutex::default(), turn: tokio::sync::Mutex::default() });
    }
    all
}

impl Reporter {
    /// Adds a pod to the next report.
    pub(crate) fn hold(&self, pod: PolicyPod) {
        self.pods().insert(pod.uid.clone(), pod);
    }

    /// A pod has started: returns when it is reported.
    pub(crate) async fn report(&self, pod: PolicyPod) {
        self.hold(pod);
        tokio::time::sleep(COLLECT).await;
        self.flush().await;
    }

    /// A pod has ended.
    pub(crate) async fn release(&self, uid: &str) {
        self.pods().remove(uid);
        self.flush().await;
    }

    /// Reports what there is.
    pub(crate) async fn flush(&self) {
        let _turn = self.turn.lock().await;
        let mut status = status_of(1, 1, 0);
        status.policy_pods = self.pods().values().cloned().collect();
        for _ in 0..TRIES {
            if patch(&self.client, &self.node, &status).await.is_some() {
                return;
            }
            tokio::time::sleep(COLLECT).await;
        }
        panic!("the agent of {} cannot report", self.node);
    }

    fn pods(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, PolicyPod>> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
