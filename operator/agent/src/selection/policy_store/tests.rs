//! What is known, with and without the API server, and of whose pods.

use super::*;
use crate::model::policies::SlicesOfNetworks;
use crate::testing::{network, node_paths};
use usnet_crds::node_state::PolicyPod;
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::{KnownPod, PodClass};
use usnet_crds::{CompiledPolicySpec, Policies};

const PATIENCE: Duration = Duration::from_secs(20);

fn spec(policies: Policies) -> Option<Arc<NodeSpec>> {
    let mut blue = network("blue");
    blue.policies = policies;
    Some(Arc::new(NodeSpec { networks: vec![Arc::new(blue)], ..NodeSpec::default() }))
}

fn object(namespace: &str) -> CompiledPolicySpec {
    let ingress = Some(Vec::new());
    let namespace = namespace.parse().unwrap();
    let policy = Policy { namespace, name: "p".to_owned(), pods: None, ingress, egress: None };
    CompiledPolicySpec::new(["blue".parse().unwrap()].into(), 1, policy)
}

fn known(object: &CompiledPolicySpec) -> KnownPolicies {
    Some(Arc::new(joined(&policies_by_network([object]), &BTreeMap::new())))
}

async fn wait(receiver: &mut Receiver<KnownPolicies>, expected: &KnownPolicies) {
    tokio::time::timeout(PATIENCE, receiver.wait_for(|found| found == expected)).await.unwrap().unwrap();
}

#[tokio::test]
async fn policies_are_known_from_the_api_server_or_a_copy_while_a_network_has_any() {
    let (_folder, paths) = node_paths();
    std::fs::create_dir_all(&paths.state).unwrap();
    let (specs, reports) = (Sender::new(spec(Policies::Enabled)), Sender::new(None));
    let store = PolicyStore::load(&paths, specs.subscribe(), reports.subscribe());
    let (mut policies, mut needed, objects) = (store.subscribe(), store.needed(), store.objects());
    assert_eq!((policies.borrow().clone(), *needed.borrow()), (None, true));
    let task = tokio::spawn(store.run());
    objects.send_replace(Some(Arc::new(vec![object("a")])));
    wait(&mut policies, &known(&object("a"))).await;
    let path = paths.policies_file();
    let deadline = Instant::now() + PATIENCE;
    let copy = || policy_file::read(&path).unwrap().map(|copy| copy.policies);
    while copy() != Some(vec![object("a")]) {
        assert!(Instant::now() < deadline, "there is no copy");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    task.abort();
    let _ended = task.await;

    let store = PolicyStore::load(&paths, specs.subscribe(), reports.subscribe());
    assert_eq!(*store.subscribe().borrow(), known(&object("a")), "of the copy");
    let (mut policies, objects) = (store.subscribe(), store.objects());
    let task = tokio::spawn(store.run());
    for namespace in ["b", "c", "b"] {
        objects.send_replace(Some(Arc::new(vec![object(namespace)])));
        wait(&mut policies, &known(&object(namespace))).await;
    }
    specs.send_replace(spec(Policies::Disabled));
    wait(&mut policies, &None).await;
    assert_eq!(copy(), None, "it would be outdated later");
    task.abort();
    let _ended = task.await;

    let store = PolicyStore::load(&paths, specs.subscribe(), reports.subscribe());
    needed = store.needed();
    assert!(!*needed.borrow());
}

/// A report of a node with this pod on the network.
fn report(uids: &[&str]) -> Option<Report> {
    let pod = |uid: &&str| PolicyPod { network: "blue".to_owned(), uid: (*uid).to_owned(), addresses: [].into() };
    let policy_pods = uids.iter().map(pod).collect();
    let report = crate::selection::testing::report_of(spec(Policies::Enabled), &[]);
    Some(Report { policy_pods, ..report })
}

fn slices(uid: &str) -> PodSlices {
    let class = Arc::new(PodClass::of_namespace("a".parse().unwrap()));
    let pod = KnownPod { class, addresses: [].into() };
    let slice = UserspacePodSliceSpec::of("blue".parse().unwrap(), [(uid, &pod)]);
    Some(Arc::new(SlicesOfNetworks { networks: [slice.network.clone()].into(), slices: vec![slice] }))
}

/// Slices of the network, without any pod.
fn no_slices() -> PodSlices {
    Some(Arc::new(SlicesOfNetworks { networks: ["blue".parse().unwrap()].into(), slices: Vec::new() }))
}

/// The uids of the pods of the network that are known.
fn uids(known: &KnownPolicies) -> Vec<String> {
    let blue = known.iter().flat_map(|known| known.get(&"blue".parse::<NetworkName>().unwrap()));
    blue.flat_map(|blue| blue.pods.keys().cloned()).collect()
}

#[tokio::test]
async fn pods_are_known_while_the_node_has_pods_on_their_network() {
    let (_folder, paths) = node_paths();
    std::fs::create_dir_all(&paths.state).unwrap();
    let (specs, reports) = (Sender::new(spec(Policies::Enabled)), Sender::new(None));
    let store = PolicyStore::load(&paths, specs.subscribe(), reports.subscribe());
    let (mut policies, mut networks) = (store.subscribe(), store.networks());
    let (objects, pods) = (store.objects(), store.slices());
    let task = tokio::spawn(store.run());
    objects.send_replace(Some(Arc::new(vec![object("a")])));
    reports.send_replace(report(&["one"]));
    tokio::time::timeout(PATIENCE, networks.wait_for(|names| names.len() == 1)).await.unwrap().unwrap();
    pods.send_replace(slices("one"));
    tokio::time::timeout(PATIENCE, policies.wait_for(|known| uids(known) == ["one"])).await.unwrap().unwrap();
    pods.send_replace(slices("two"));
    tokio::time::timeout(PATIENCE, policies.wait_for(|known| uids(known) == ["two"])).await.unwrap().unwrap();
    reports.send_replace(report(&[]));
    // It would be outdated when the node has a pod there again.
    tokio::time::timeout(PATIENCE, policies.wait_for(|known| uids(known).is_empty())).await.unwrap().unwrap();
    assert!(networks.borrow().is_empty());
    task.abort();
}

/// Those of the copy would have the rights of pods that are gone.
#[tokio::test]
async fn pods_of_the_copy_are_known_until_the_api_server_says_that_there_are_none() {
    let (_folder, paths) = node_paths();
    std::fs::create_dir_all(&paths.state).unwrap();
    let pods = slices("one").iter().flat_map(|slices| &slices.slices).flat_map(UserspacePodSliceSpec::pods).collect();
    let pods = [("blue".parse().unwrap(), Arc::new(pods))].into();
    std::fs::create_dir_all(paths.policies_file().parent().unwrap()).unwrap();
    policy_file::write(&paths.policies_file(), Copy { policies: vec![object("a")], pods }).unwrap();
    let (specs, reports) = (Sender::new(spec(Policies::Enabled)), Sender::new(report(&["one"])));
    let store = PolicyStore::load(&paths, specs.subscribe(), reports.subscribe());
    let mut policies = store.subscribe();
    assert_eq!(uids(&policies.borrow()), ["one"]);
    let (objects, pods) = (store.objects(), store.slices());
    let task = tokio::spawn(store.run());
    objects.send_replace(Some(Arc::new(vec![object("a")])));
    pods.send_replace(no_slices());
    tokio::time::timeout(PATIENCE, policies.wait_for(|known| uids(known).is_empty())).await.unwrap().unwrap();
    task.abort();
}
