//! The policies for the flows of bridges: those of the API server, and until they are read those of
//! a copy on disk (IO). They are only read, and only kept, while a network of the node has
//! policies.

use super::policy_file;
use crate::model::policies::{CompiledPolicies, KnownPolicies, by_network};
use crate::model::spec::NodeSpec;
use std::convert::Infallible;
use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch::{Receiver, Sender};
use tokio::task::spawn_blocking;
use tokio::time::sleep_until;
use usnet_common::display::ErrorChain;
use usnet_dataplane::paths::NodePaths;

/// How long after a change the copy is written: policies usually change together.
const WRITE_DELAY: Duration = Duration::from_secs(1);

/// The policies that the node knows.
#[derive(Debug)]
pub(crate) struct PolicyStore {
    path: PathBuf,
    specs: Receiver<Option<Arc<NodeSpec>>>,
    needed: Sender<bool>,
    /// What the API server has.
    objects: Sender<CompiledPolicies>,
    current: Sender<KnownPolicies>,
}

impl PolicyStore {
    /// Starts with the copy that an earlier agent wrote.
    pub(crate) fn load(paths: &NodePaths, specs: Receiver<Option<Arc<NodeSpec>>>) -> Self {
        let path = paths.policies_file();
        let copy = policy_file::read(&path).unwrap_or_else(|error| {
            tracing::warn!(error = %ErrorChain(&error), "cannot read the copy of policies; new ports of networks with policies stay closed until the API server is reached");
            None
        });
        let needed = Sender::new(is_needed(&specs));
        let current = Sender::new(copy.map(|objects| Arc::new(by_network(&objects))));
        Self { path, specs, needed, objects: Sender::new(None), current }
    }

    /// Subscribes to the policies.
    pub(crate) fn subscribe(&self) -> Receiver<KnownPolicies> {
        self.current.subscribe()
    }

    /// Whether a network of the node has policies.
    pub(crate) fn needed(&self) -> Receiver<bool> {
        self.needed.subscribe()
    }

    /// Sends what the API server has.
    pub(crate) fn objects(&self) -> Sender<CompiledPolicies> {
        self.objects.clone()
    }

    /// Runs indefinitely.
    pub(crate) async fn run(mut self) -> Infallible {
        let mut objects = self.objects.subscribe();
        let mut unsaved: Option<Instant> = None;
        loop {
            let needed = is_needed(&self.specs);
            self.needed.send_if_modified(|known| std::mem::replace(known, needed) != needed);
            if !needed {
                unsaved = None;
                self.forget();
            } else if self.update(&objects.borrow_and_update()) {
                unsaved.get_or_insert_with(|| Instant::now() + WRITE_DELAY);
            }
            let due = async {
                match unsaved {
                    Some(due) => sleep_until(due.into()).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                changed = objects.changed() => if changed.is_err() { pending().await },
                changed = self.specs.changed() => if changed.is_err() { pending().await },
                () = due => {
                    unsaved = None;
                    let objects = objects.borrow().clone();
                    self.write(objects).await;
                }
            }
        }
    }

    /// Passes on what the API server has, unless it was not read yet. Returns whether it changed.
    fn update(&self, objects: &CompiledPolicies) -> bool {
        let Some(objects) = objects else { return false };
        let policies = Some(Arc::new(by_network(objects.iter())));
        self.current.send_if_modified(|current| {
            let differs = *current != policies;
            if differs {
                *current = policies;
            }
            differs
        })
    }

    /// A copy that is not kept up to date would be enforced when a network has policies again.
    fn forget(&self) {
        self.current.send_if_modified(|current| current.take().is_some());
        self.objects.send_if_modified(|objects| objects.take().is_some());
        if let Err(error) = policy_file::remove(&self.path) {
            tracing::warn!(error = %ErrorChain(&error), "cannot remove the copy of policies");
        }
    }

    async fn write(&self, objects: CompiledPolicies) {
        let Some(objects) = objects else { return };
        let path = self.path.clone();
        let written = spawn_blocking(move || policy_file::write(&path, &objects)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(error = %ErrorChain(&error), "cannot write the copy of policies; an agent that starts now leaves ports of networks with policies closed until it reaches the API server");
        }
    }
}

fn is_needed(specs: &Receiver<Option<Arc<NodeSpec>>>) -> bool {
    specs.borrow().as_ref().is_some_and(|spec| spec.networks.iter().any(|network| network.policies.are_enabled()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{network, node_paths};
    use usnet_crds::policy::Policy;
    use usnet_crds::{CompiledPolicySpec, Policies};

    const PATIENCE: Duration = Duration::from_secs(20);

    fn spec(policies: Policies) -> Option<Arc<NodeSpec>> {
        let mut blue = network("blue");
        blue.policies = policies;
        Some(Arc::new(NodeSpec { networks: vec![Arc::new(blue)], ..NodeSpec::default() }))
    }

    fn object(namespace: &str) -> CompiledPolicySpec {
        let ingress = Some(Vec::new());
        let policy = Policy { namespace: namespace.parse().unwrap(), name: "p".to_owned(), ingress, egress: None };
        CompiledPolicySpec::new(["blue".parse().unwrap()].into(), 1, policy)
    }

    fn known(object: &CompiledPolicySpec) -> KnownPolicies {
        Some(Arc::new(by_network([object])))
    }

    async fn wait(receiver: &mut Receiver<KnownPolicies>, expected: &KnownPolicies) {
        tokio::time::timeout(PATIENCE, receiver.wait_for(|found| found == expected)).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn policies_are_known_from_the_api_server_or_a_copy_while_a_network_has_any() {
        let (_folder, paths) = node_paths();
        std::fs::create_dir_all(&paths.state).unwrap();
        let specs = Sender::new(spec(Policies::Enabled));
        let store = PolicyStore::load(&paths, specs.subscribe());
        let (mut policies, mut needed, objects) = (store.subscribe(), store.needed(), store.objects());
        assert_eq!((policies.borrow().clone(), *needed.borrow()), (None, true));
        let task = tokio::spawn(store.run());
        objects.send_replace(Some(Arc::new(vec![object("a")])));
        wait(&mut policies, &known(&object("a"))).await;
        let path = paths.policies_file();
        let deadline = Instant::now() + PATIENCE;
        while policy_file::read(&path).unwrap() != Some(vec![object("a")]) {
            assert!(Instant::now() < deadline, "there is no copy");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        task.abort();
        let _ended = task.await;

        let store = PolicyStore::load(&paths, specs.subscribe());
        assert_eq!(*store.subscribe().borrow(), known(&object("a")), "of the copy");
        let (mut policies, objects) = (store.subscribe(), store.objects());
        let task = tokio::spawn(store.run());
        objects.send_replace(Some(Arc::new(vec![object("b")])));
        wait(&mut policies, &known(&object("b"))).await;
        specs.send_replace(spec(Policies::Disabled));
        wait(&mut policies, &None).await;
        assert_eq!(policy_file::read(&path).unwrap(), None, "it would be outdated later");
        task.abort();
        let _ended = task.await;

        let store = PolicyStore::load(&paths, specs.subscribe());
        needed = store.needed();
        assert!(!*needed.borrow());
    }
}
