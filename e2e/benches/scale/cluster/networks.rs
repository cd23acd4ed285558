//! The statuses of all networks, as a user with `kubectl get --watch` sees them.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::sync::watch::{Receiver, channel};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use usnet_crds::UserspaceNetwork;
use usnet_crds::conditions::{READY, find};

/// What a user sees of a network.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    observed_generation: i64,
    is_ready: bool,
    selected: i64,
    programmed: i64,
    pub(crate) attachments: i64,
}

/// All networks by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct All(HashMap<String, Seen>);

impl All {
    /// Whether a network is ready on so many nodes, at this generation or a later one.
    pub(crate) fn is_ready(&self, name: &str, generation: i64, nodes: usize) -> bool {
        let nodes = i64::try_from(nodes).unwrap_or(i64::MAX);
        self.0.get(name).is_some_and(|seen| {
            seen.observed_generation >= generation
                && seen.is_ready
                && seen.selected == nodes
                && seen.programmed == nodes
        })
    }

    pub(crate) fn count_ready(&self, nodes: usize) -> usize {
        self.0.keys().filter(|name| self.is_ready(name, 1, nodes)).count()
    }

    pub(crate) fn get(&self, name: &str) -> Seen {
        self.0.get(name).copied().unwrap_or_default()
    }
}

/// Follows them until it is dropped.
pub(crate) struct NetworkStatuses {
    all: Receiver<All>,
    task: AbortHandle,
}

impl NetworkStatuses {
    pub(crate) fn follow(client: Client) -> Self {
        let (sender, all) = channel(All::default());
        let follow = async move {
            let mut events = watcher(Api::<UserspaceNetwork>::all(client), Config::default()).boxed();
            while let Some(event) = events.next().await {
                match event {
                    Ok(Event::Apply(network) | Event::InitApply(network)) => sender.send_modify(|all| {
                        all.0.insert(network.name_any(), seen(&network));
                    }),
                    Ok(Event::Delete(network)) => sender.send_modify(|all| {
                        all.0.remove(&network.name_any());
                    }),
                    Ok(Event::Init | Event::InitDone) => {}
                    Err(_) => tokio::time::sleep(Duration::from_millis(500)).await,
                }
            }
        };
        Self { all, task: tokio::spawn(follow).abort_handle() }
    }

    /// Waits until something is true of them; says whether it came to that.
    pub(crate) async fn wait(&mut self, limit: Duration, condition: impl FnMut(&All) -> bool) -> bool {
        matches!(timeout(limit, self.all.wait_for(condition)).await, Ok(Ok(_)))
    }

    pub(crate) fn now(&self) -> All {
        self.all.borrow().clone()
    }
}

impl Drop for NetworkStatuses {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn seen(network: &UserspaceNetwork) -> Seen {
    let Some(status) = &network.status else { return Seen::default() };
    Seen {
        observed_generation: status.observed_generation.unwrap_or_default(),
        is_ready: find(&status.conditions, READY).is_some_and(|ready| ready.status == "True"),
        selected: status.nodes.selected,
        programmed: status.nodes.programmed,
        attachments: status.attachments,
    }
}
