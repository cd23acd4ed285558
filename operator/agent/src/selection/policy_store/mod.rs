//! The policies for the flows of bridges, and the pods that they select: those of the API server,
//! and until they are read those of a copy on disk (IO). They are only read, and only kept, while a
//! network of the node has policies; the pods only of networks that the node has pods on.

use crate::model::policies::{
    CompiledPolicies, KnownPolicies, PodSlices, PoliciesByNetwork, joined, pods_of, policies_by_network,
};
use crate::model::report::Report;
use crate::model::spec::NodeSpec;
use crate::selection::policy_file::{self, Copy};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch::{Receiver, Sender};
use tokio::task::spawn_blocking;
use tokio::time::sleep_until;
use usnet_common::display::ErrorChain;
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::KnownPods;
use usnet_crds::{NetworkName, UserspacePodSliceSpec};
use usnet_dataplane::paths::NodePaths;

/// How long after a change the copy is written: policies usually change together.
const WRITE_DELAY: Duration = Duration::from_secs(1);

/// The policies that the node knows.
#[derive(Debug)]
pub(crate) struct PolicyStore {
    path: PathBuf,
    specs: Receiver<Option<Arc<NodeSpec>>>,
    reports: Receiver<Option<Report>>,
    needed: Sender<bool>,
    /// The networks with policies that the node has pods on.
    networks: Sender<BTreeSet<NetworkName>>,
    /// What the API server has.
    objects: Sender<CompiledPolicies>,
    slices: Sender<PodSlices>,
    current: Sender<KnownPolicies>,
    /// The policies of each network, and the objects that they were read from.
    policies: BTreeMap<NetworkName, Arc<[Policy]>>,
    read_from: CompiledPolicies,
    /// Each network whose pods are known.
    pods: BTreeMap<NetworkName, FollowedPods>,
}

/// The pods of a network, as its slices have them, and as its flows need them.
#[derive(Debug)]
struct FollowedPods {
    /// None while they are those of the copy.
    slices: Option<Vec<UserspacePodSliceSpec>>,
    known: Arc<KnownPods>,
}

impl FollowedPods {
    fn of(slices: Vec<UserspacePodSliceSpec>, before: &KnownPods) -> Self {
        Self { known: Arc::new(pods_of(&slices, before)), slices: Some(slices) }
    }
}

impl PolicyStore {
    /// Starts with the copy that an earlier agent wrote.
    pub(crate) fn load(
        paths: &NodePaths,
        specs: Receiver<Option<Arc<NodeSpec>>>,
        reports: Receiver<Option<Report>>,
    ) -> Self {
        let path = paths.policies_file();
        let copy = policy_file::read(&path).unwrap_or_else(|error| {
            tracing::warn!(error = %ErrorChain(&error), "cannot read the copy of policies; new ports of networks with policies stay closed until the API server is reached");
            None
        });
        let needed = Sender::new(is_needed(&specs));
        let has_copy = copy.is_some();
        let Copy { policies, pods } = copy.unwrap_or_default();
        let policies = policies_by_network(&policies);
        let followed = |(network, known)| (network, FollowedPods { slices: None, known });
        let pods: BTreeMap<NetworkName, FollowedPods> = pods.into_iter().map(followed).collect();
        let known = has_copy.then(|| known(&policies, &pods));
        Self {
            path,
            specs,
            reports,
            needed,
            networks: Sender::new(pods.keys().cloned().collect()),
            objects: Sender::new(None),
            slices: Sender::new(None),
            current: Sender::new(known),
            policies,
            read_from: None,
            pods,
        }
    }

    /// Subscribes to the policies.
    pub(crate) fn subscribe(&self) -> Receiver<KnownPolicies> {
        self.current.subscribe()
    }

    /// Whether a network of the node has policies.
    pub(crate) fn needed(&self) -> Receiver<bool> {
        self.needed.subscribe()
    }

    /// The networks with policies that the node has pods on.
    pub(crate) fn networks(&self) -> Receiver<BTreeSet<NetworkName>> {
        self.networks.subscribe()
    }

    /// Sends what the API server has of policies.
    pub(crate) fn objects(&self) -> Sender<CompiledPolicies> {
        self.objects.clone()
    }

    /// Sends what the API server has of pods.
    pub(crate) fn slices(&self) -> Sender<PodSlices> {
        self.slices.clone()
    }

    /// Runs indefinitely.
    pub(crate) async fn run(mut self) -> Infallible {
        let (mut objects, mut slices) = (self.objects.subscribe(), self.slices.subscribe());
        // They may have been sent before.
        let mut has_objects = true;
        let mut unsaved: Option<Instant> = None;
        loop {
            let needed = is_needed(&self.specs);
            self.needed.send_if_modified(|known| std::mem::replace(known, needed) != needed);
            self.follow_networks();
            let is_changed = self.keep_pods(&slices.borrow_and_update()) | std::mem::take(&mut has_objects);
            if !needed {
                unsaved = None;
                self.forget();
            } else if (is_changed || self.current.borrow().is_none()) && self.update(&objects.borrow_and_update()) {
                unsaved.get_or_insert_with(|| Instant::now() + WRITE_DELAY);
            }
            let due = async {
                match unsaved {
                    Some(due) => sleep_until(due.into()).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                changed = objects.changed() => match changed {
                    Ok(()) => has_objects = true,
                    Err(_) => pending().await,
                },
                changed = slices.changed() => if changed.is_err() { pending().await },
                changed = self.specs.changed() => if changed.is_err() { pending().await },
                changed = self.reports.changed() => if changed.is_err() { pending().await },
                () = due => {
                    unsaved = None;
                    let objects = objects.borrow().clone();
                    self.write(objects).await;
                }
            }
        }
    }

    /// Sets whose pods are followed. Before all engines were looked at, pods may be missing in the
    /// report.
    fn follow_networks(&mut self) {
        let report = self.reports.borrow_and_update();
        let Some(report) = report.as_ref().filter(|report| report.spec.is_some()) else { return };
        let names = report.policy_pods.iter().filter_map(|pod| pod.network.parse().ok());
        let names: BTreeSet<NetworkName> = names.collect();
        self.networks.send_if_modified(|known| {
            let differs = *known != names;
            if differs {
                *known = names;
            }
            differs
        });
    }

    /// Keeps the pods of networks that are followed. Those of others would be outdated when the
    /// node has a pod there again; those that are not read yet are as they were. Returns whether
    /// they changed.
    fn keep_pods(&mut self, slices: &PodSlices) -> bool {
        let networks = self.networks.borrow().clone();
        let mut is_changed = self.pods.extract_if(.., |network, _| !networks.contains(network)).count() > 0;
        for network in slices.iter().flat_map(|slices| slices.networks.intersection(&networks)) {
            let all = slices.iter().flat_map(|slices| &slices.slices);
            let of_network: Vec<_> = all.filter(|slice| slice.network == *network).cloned().collect();
            let before = self.pods.get(network);
            if before.and_then(|pods| pods.slices.as_ref()) != Some(&of_network) {
                let known = before.map(|pods| Arc::clone(&pods.known)).unwrap_or_default();
                self.pods.insert(network.clone(), FollowedPods::of(of_network, &known));
                is_changed = true;
            }
        }
        is_changed
    }

    /// Passes on what is known. What the API server has not been asked for yet is as it was.
    /// Returns whether it changed.
    fn update(&mut self, objects: &CompiledPolicies) -> bool {
        let Some(read) = objects else { return false };
        if self.read_from.as_ref().is_none_or(|before| !Arc::ptr_eq(before, read)) {
            self.policies = policies_by_network(read.iter());
            self.read_from.clone_from(objects);
        }
        let known = Some(known(&self.policies, &self.pods));
        self.current.send_if_modified(|current| {
            let differs = *current != known;
            if differs {
                *current = known;
            }
            differs
        })
    }

    /// A copy that is not kept up to date would be enforced when a network has policies again.
    fn forget(&mut self) {
        self.read_from = None;
        self.current.send_if_modified(|current| current.take().is_some());
        self.objects.send_if_modified(|objects| objects.take().is_some());
        if let Err(error) = policy_file::remove(&self.path) {
            tracing::warn!(error = %ErrorChain(&error), "cannot remove the copy of policies");
        }
    }

    async fn write(&self, objects: CompiledPolicies) {
        let Some(objects) = objects else { return };
        let pods = self.pods.iter().map(|(network, pods)| (network.clone(), Arc::clone(&pods.known))).collect();
        let copy = Copy { policies: objects.to_vec(), pods };
        let path = self.path.clone();
        let written = spawn_blocking(move || policy_file::write(&path, copy)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(error = %ErrorChain(&error), "cannot write the copy of policies; an agent that starts now leaves ports of networks with policies closed until it reaches the API server");
        }
    }
}

/// What is known of each network, of which what has not changed is shared with what was known
/// before.
fn known(
    policies: &BTreeMap<NetworkName, Arc<[Policy]>>,
    pods: &BTreeMap<NetworkName, FollowedPods>,
) -> Arc<PoliciesByNetwork> {
    let pods = pods.iter().map(|(network, pods)| (network.clone(), Arc::clone(&pods.known))).collect();
    Arc::new(joined(policies, &pods))
}

fn is_needed(specs: &Receiver<Option<Arc<NodeSpec>>>) -> bool {
    specs.borrow().as_ref().is_some_and(|spec| spec.networks.iter().any(|network| network.policies.are_enabled()))
}

#[cfg(test)]
mod tests;
