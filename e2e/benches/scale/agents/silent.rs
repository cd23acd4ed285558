//! Agents that report once and watch nothing: for the size of what a cluster holds, and not for
//! what it costs.

use super::agent::patch;
use super::agent_state::{Facts, status};
use super::counters::{Counters, client};
use super::protocol::Identity;
use futures::{StreamExt, stream};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use usnet_crds::UserspaceNodeStateStatus;

const AT_ONCE: usize = 16;
const TRIES: usize = 10;

/// Those of a process.
pub(super) struct Silent<'a> {
    pub(super) kubeconfig: &'a Value,
    pub(super) agents: &'a [Identity],
    pub(super) shared: &'a Counters,
}

impl Silent<'_> {
    /// Lets each of them report once; says whether all could.
    pub(super) async fn report(&self, status: impl Fn(&str) -> UserspaceNodeStateStatus) -> bool {
        let report = |identity: &Identity| {
            let (kubeconfig, identity) = (self.kubeconfig.clone(), identity.clone());
            let status = status(&identity.node);
            async move {
                let client = client(kubeconfig, &identity.token).await;
                for _ in 0..TRIES {
                    if let Some(bytes) = patch(&client, &identity.node, &status).await {
                        self.shared.wrote(bytes);
                        return true;
                    }
                    self.shared.failed();
                }
                false
            }
        };
        stream::iter(self.agents).map(report).buffer_unordered(AT_ONCE).all(async |is_done| is_done).await
    }
}

/// What a node without pods reports.
pub(super) fn status_of(generation: i64, version: u64, selected: usize) -> UserspaceNodeStateStatus {
    let since = Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default();
    status(&Facts { generation, version, selected, reports: Vec::new(), since })
}
