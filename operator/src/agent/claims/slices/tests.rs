//! Publishing to an API server with prepared answers.

use super::*;
use crate::agent::claims::offered::tests::available;
use crate::agent::testing::api_server::{Answer, ApiServer};
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch::channel;
use usnet_crds::DeviceCount;

/// How many events of its slices the API server sends.
const EVENTS: usize = 20;

/// A slice as the API server keeps it.
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

/// One that keeps a slice otherwise than it was written, and says so again and again.
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

#[tokio::test]
async fn what_the_api_server_does_not_keep_is_not_written_again_without_a_pause() {
    let server = stubborn();
    let (_sender, offered) = channel(vec![available("blue")]);
    let publish = publish(server.client(), "node-a".into(), offered);
    assert!(timeout(RETRY / 6, publish).await.is_err());
    let watched = server.requests().iter().filter(|line| line.contains("watch=")).count();
    assert_eq!((writes(&server), watched), (1, EVENTS + 1));
}

/// The state in which these networks need nothing to be written.
fn published(networks: &[Offered], support: Support) -> Slices {
    let written = slices(networks, "node-a", support, 3);
    let mut present = Objects::default();
    present.by_name = written.into_iter().map(|slice| (slice.metadata.name.clone().unwrap(), slice)).collect();
    Slices { api: Api::all(ApiServer::answering(Vec::new()).client()), node: "node-a".into(), present, support }
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
