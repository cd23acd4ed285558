//! Publishing to an API server with prepared answers.

use super::*;
use crate::claims::offered::tests::available;
use crate::claims::registration::tests::registered;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch::channel;
use usnet_common::testing::api_server::{Answer, ApiServer};
use usnet_crds::DeviceCount;

/// How many events of its slices the API server sends.
const EVENTS: usize = 20;

/// A slice as the API server stores it.
fn kept(value: &str) -> Value {
    json!({
        "apiVersion": ResourceSlice::api_version(&()), "kind": ResourceSlice::kind(&()),
        "metadata": {"name": "node-a-usnet.dev-00", "resourceVersion": "7"},
        "spec": {
            "driver": "usnet.dev", "nodeName": "node-a",
            "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
            "devices": [{
                "name": "blue", "allowMultipleAllocations": true,
                "capacity": {"ports": {"value": value}}, "taints": [{"key": "x", "effect": "NoSchedule"}],
            }],
        },
    })
}

fn list(items: &[Value]) -> Answer {
    let list = json!({
        "apiVersion": ResourceSlice::api_version(&()), "kind": "ResourceSliceList",
        "metadata": {"resourceVersion": "1"}, "items": items,
    });
    Answer::ok(list.to_string())
}

/// An API server that stores a slice otherwise than it was written, and sends events for it
/// repeatedly.
fn stubborn() -> ApiServer {
    let events = AtomicUsize::new(0);
    ApiServer::choosing(move |line| {
        if line.starts_with("PATCH") {
            return Some(Answer::ok(kept("other").to_string()));
        }
        if !line.contains("watch=") {
            return Some(list(&[]));
        }
        let number = events.fetch_add(1, Ordering::SeqCst);
        let event = json!({"type": "MODIFIED", "object": kept(&number.to_string())});
        (number < EVENTS).then(|| Answer::ok(format!("{event}\n")))
    })
}

fn writes(server: &ApiServer) -> usize {
    let requests = server.requests();
    requests.iter().filter(|line| line.starts_with("PATCH") && !line.contains("dryRun")).count()
}

#[tokio::test(start_paused = true)]
async fn what_the_api_server_does_not_keep_is_not_written_again_without_a_pause() {
    let server = stubborn();
    let (_sender, offered) = channel(vec![available("blue")]);
    let (_owners, owners) = channel(Some(Vec::new()));
    let (_kubelet, registration) = channel(registered());
    let inputs = Inputs { networks: channel(None).1, offered, owners, registration };
    let publish = publish(server.client(), "node-a".into(), inputs);
    assert!(timeout(RETRY / 6, publish).await.is_err());
    let watched = server.requests().iter().filter(|line| line.contains("watch=")).count();
    assert_eq!((writes(&server), watched), (1, EVENTS + 1));
}

/// The state in which these networks need nothing to be written.
fn published(networks: &[Offered], support: Support) -> Slices {
    let written = slices(networks, "node-a", support, 3);
    let mut present = Objects::default();
    present.by_name = written.into_iter().map(|slice| (slice.metadata.name.clone().unwrap(), slice)).collect();
    Slices {
        api: Api::all(ApiServer::answering(Vec::new()).client()),
        node: "node-a".into(),
        present,
        support,
        owner: None,
    }
}

#[tokio::test]
async fn slices_are_compared_by_name() {
    let large = |index| Offered { ports: DeviceCount::try_from(1000).unwrap(), ..available(&format!("n{index}")) };
    let networks: Vec<Offered> = (0..7).map(large).collect();
    let mut published = published(&networks, Support { shares: false, taints: false });
    assert!(published.present.by_name.len() > 100);
    assert!(published.is_current(&networks));
    assert!(!published.is_current(&networks[1..]), "one network less");
    let (_, last) = published.present.by_name.pop_last().unwrap();
    assert!(!published.is_current(&networks), "a slice is missing");
    published.present.by_name.insert("other".into(), last);
    assert!(!published.is_current(&networks), "it has another name");
}

fn node(uid: &str) -> OwnerReference {
    let [kind, name, uid] = ["Node", "node-a", uid].map(str::to_owned);
    OwnerReference { api_version: "v1".into(), kind, name, uid, ..OwnerReference::default() }
}

#[tokio::test]
async fn slices_go_with_their_node_and_are_written_again_for_a_later_one() {
    let networks = [available("blue")];
    let mut published = published(&networks, Support::ALL);
    let other = OwnerReference { kind: "Pod".into(), ..node("p-1") };
    published.owner = node_among(&[other, OwnerReference { block_owner_deletion: Some(true), ..node("n-1") }]);
    assert!(!published.is_current(&networks), "they have no owner");
    let [slice] = published.wanted(&networks, 4).try_into().unwrap();
    let owner = json!([{"apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": "n-1", "controller": true}]);
    assert_eq!(body(&slice)["metadata"], json!({"name": "node-a-usnet.dev-00", "ownerReferences": owner}));
    for present in published.present.by_name.values_mut() {
        present.metadata.owner_references = slice.metadata.owner_references.clone();
    }
    assert!(published.is_current(&networks));
    published.owner = node_among(&[node("n-2")]);
    assert!(!published.is_current(&networks), "the node was created again");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_for_a_node_without_a_state() {
    let server = stubborn();
    let ((_sender, offered), (owners, known)) = (channel(vec![available("blue")]), channel(None));
    let (_kubelet, registration) = channel(registered());
    let inputs = Inputs { networks: channel(None).1, offered, owners: known, registration };
    let publish = publish(server.client(), "node-a".into(), inputs);
    tokio::pin!(publish);
    assert!(timeout(RETRY / 12, publish.as_mut()).await.is_err());
    assert_eq!(writes(&server), 0);
    owners.send_replace(Some(vec![node("n-1")]));
    assert!(timeout(RETRY / 12, publish.as_mut()).await.is_err());
    assert_eq!(writes(&server), 1);
}

/// The requests of an agent whose node has no networks with resource claims.
async fn requests_without_networks(present: Option<Value>) -> (Vec<String>, Vec<String>) {
    let server = ApiServer::choosing(move |line| match &present {
        _ if line.contains("watch=") => None,
        None => Some(Answer::new(403, json!({"kind": "Status", "status": "Failure", "code": 403}).to_string())),
        Some(slice) if line.starts_with("DELETE") => Some(Answer::ok(slice.to_string())),
        Some(slice) => Some(list(std::slice::from_ref(slice))),
    });
    let ((networks, known), (_sender, offered)) = (channel(None), channel(Vec::new()));
    let (_owners, owners) = channel(Some(Vec::new()));
    let (_kubelet, registration) = channel(registered());
    let inputs = Inputs { networks: known, offered, owners, registration };
    let publish = publish(server.client(), "node-a".into(), inputs);
    tokio::pin!(publish);
    assert!(timeout(RETRY / 60, publish.as_mut()).await.is_err());
    let before = server.requests();
    networks.send_replace(Some(Arc::default()));
    assert!(timeout(RETRY / 12, publish.as_mut()).await.is_err());
    (before, server.requests())
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_was_left_is_deleted_once_the_networks_are_known() {
    let (before, all) = requests_without_networks(Some(kept("2"))).await;
    assert_eq!(before, [""; 0]);
    let deleted: Vec<&String> = all.iter().filter(|line| !line.starts_with("GET")).collect();
    assert!(
        matches!(deleted[..], [line] if line.starts_with("DELETE") && line.contains("node-a-usnet.dev-00")),
        "{all:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_list_slices_it_is_asked_once() {
    let (before, all) = requests_without_networks(None).await;
    assert_eq!((before.len(), all.len()), (0, 1), "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn slices_are_there_while_kubelet_has_the_driver_and_stay_while_kubelet_is_gone() {
    let network = available("blue");
    let written = body(&slices(std::slice::from_ref(&network), "node-a", Support::ALL, 1).remove(0)).to_string();
    let probed = body(&probe(&network, "node-a")).to_string();
    let server = ApiServer::choosing(move |line| match line {
        _ if line.contains("watch=") => None,
        _ if line.starts_with("GET") => Some(list(&[kept("2")])),
        _ if line.contains("dryRun") => Some(Answer::ok(probed.clone())),
        _ => Some(Answer::ok(written.clone())),
    });
    let (_sender, offered) = channel(vec![network]);
    let (_owners, owners) = channel(Some(Vec::new()));
    let (kubelet, registration) = channel(Registration::default());
    let inputs = Inputs { networks: channel(None).1, offered, owners, registration };
    let publish = publish(server.client(), "node-a".into(), inputs);
    tokio::pin!(publish);
    let mut seen = 0;
    let mut writes_after = async |change: fn(&mut Registration)| {
        kubelet.send_modify(change);
        // Long enough for the writes, and too short for a second attempt.
        assert!(timeout(RETRY / 12, publish.as_mut()).await.is_err());
        let requests = server.requests().split_off(seen);
        seen += requests.len();
        let writes = requests.iter().filter(|line| !line.starts_with("GET") && !line.contains("dryRun"));
        writes.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(writes_after(|_| {}).await, ["DELETE"], "an earlier agent left a slice, and a pod would be placed");
    assert_eq!(writes_after(Registration::connected).await, [""; 0]);
    assert_eq!(writes_after(Registration::registered).await, ["PATCH"]);
    assert_eq!(writes_after(Registration::disconnected).await, [""; 0], "kubelet deletes them at its start");
    assert_eq!(writes_after(Registration::ended).await, ["DELETE"], "the socket was removed");
}
