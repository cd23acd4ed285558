//! The annotation writer, towards an API server of one pod.

use super::*;
use crate::testing;
use futures::FutureExt;
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tower::service_fn;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::legacy_annotation::{ANNOTATION, LegacyInterfaceStatus, LegacyResult, MAPPED_DIR_ANNOTATION};

/// A pod in a cluster, and the requests for it.
#[derive(Clone, Default)]
struct Cluster {
    pod: Arc<Mutex<Value>>,
    patches: Arc<Mutex<Vec<Value>>>,
}

impl Cluster {
    fn with_pod(uid: &str) -> Self {
        let cluster = Self::default();
        *cluster.pod.lock().unwrap() = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c1", "namespace": "default", "uid": uid, "annotations": {"kept": "as it is"}},
            "spec": {
                "volumes": [{"name": "shared-dir", "emptyDir": {}}],
                "containers": [{"name": "main", "volumeMounts": [{"name": "shared-dir", "mountPath": "/var/lib/cni/usrspcni"}]}],
            },
        });
        cluster
    }

    fn client(&self) -> Client {
        let cluster = self.clone();
        let answer = move |request: Request<Body>| {
            let cluster = cluster.clone();
            async move {
                assert_eq!(request.method(), "PATCH");
                assert_eq!(request.uri().path(), "/api/v1/namespaces/default/pods/c1/status");
                let body = request.into_body().collect().await.unwrap().to_bytes();
                Ok::<_, std::convert::Infallible>(cluster.patch(&serde_json::from_slice(&body).unwrap()))
            }
            .boxed()
        };
        Client::new(service_fn(answer), "default")
    }

    fn patch(&self, patch: &Value) -> Response<Body> {
        let mut pod = self.pod.lock().unwrap();
        let failure = |code: u16| {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": "no", "code": code});
            Response::builder().status(code).body(Body::from(status.to_string().into_bytes())).unwrap()
        };
        self.patches.lock().unwrap().push(patch["metadata"]["annotations"].clone());
        match &*pod {
            Value::Null => failure(404),
            Value::Bool(_) => failure(500),
            found if found["metadata"]["uid"] != patch["metadata"]["uid"] => failure(422),
            _ => {
                json_patch::merge(&mut pod, patch);
                Response::new(Body::from(pod.to_string().into_bytes()))
            }
        }
    }

    fn annotation(&self, key: &str) -> Option<String> {
        self.pod.lock().unwrap()["metadata"]["annotations"][key].as_str().map(str::to_owned)
    }

    fn interfaces(&self) -> Vec<String> {
        let annotation: Value =
            serde_json::from_str(&self.annotation(ANNOTATION).unwrap_or_default()).unwrap_or_default();
        annotation
            .as_array()
            .into_iter()
            .flatten()
            .map(|element| element["ifName"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The number of patches, and the number of those that changed something.
    fn count(&self) -> (usize, usize) {
        let patches = std::mem::take(&mut *self.patches.lock().unwrap());
        (patches.len(), patches.iter().filter(|annotations| !annotations.is_null()).count())
    }
}

fn attached(container: &str, interface: &str) -> Record {
    let mut record = testing::record("c1", &testing::network("blue"));
    record.id.container = container.parse().unwrap();
    record.id.interface = interface.parse().unwrap();
    record.configuration_data = LegacyInterfaceStatus::new(&record, &LegacyResult::default());
    assert!(record.configuration_data.is_some());
    record
}

struct Node {
    _folder: tempfile::TempDir,
    journal: Journal,
}

impl Node {
    fn new() -> Self {
        let (folder, paths) = testing::node_paths();
        Self { _folder: folder, journal: Journal::open(&paths).unwrap() }
    }

    fn write(&self, record: &Record) {
        self.journal.lock(&record.id).unwrap().write(record).unwrap();
    }

    fn remove(&self, record: &Record) {
        self.journal.lock(&record.id).unwrap().remove().unwrap();
    }
}

fn writer(cluster: &Cluster) -> AnnotationWriter {
    AnnotationWriter { pods: PodPatches::new(cluster.client()), written: BTreeMap::new() }
}

#[tokio::test]
async fn a_pod_is_annotated_once_and_its_annotations_are_removed_with_its_interfaces() {
    let (node, first, second) = (Node::new(), attached("c1", "net1"), attached("c1", "net2"));
    let cluster = Cluster::with_pod(first.pod.uid.as_str());
    let mut writer = writer(&cluster);
    node.write(&first);
    assert!(writer.reconcile(&node.journal, true).await);
    assert_eq!((cluster.interfaces(), cluster.count()), (vec!["net1".to_owned()], (2, 1)));
    assert_eq!(cluster.annotation(MAPPED_DIR_ANNOTATION).as_deref(), Some("/var/lib/cni/usrspcni/"));
    assert!(writer.reconcile(&node.journal, true).await);
    assert_eq!(cluster.count(), (0, 0), "it is known that nothing is missing");
    node.write(&second);
    assert!(writer.reconcile(&node.journal, true).await);
    assert_eq!(cluster.interfaces(), ["net1", "net2"]);
    node.remove(&first);
    assert!(writer.reconcile(&node.journal, true).await);
    assert_eq!(cluster.interfaces(), ["net2"]);
    node.remove(&second);
    assert!(writer.reconcile(&node.journal, true).await);
    assert_eq!((cluster.annotation(ANNOTATION), cluster.annotation(MAPPED_DIR_ANNOTATION)), (None, None));
    assert_eq!(cluster.annotation("kept").as_deref(), Some("as it is"));
}

#[tokio::test]
async fn a_newer_sandbox_replaces_the_element_and_a_new_agent_repeats_nothing() {
    let (node, older, newer) = (Node::new(), attached("c1", "net1"), attached("c2", "net1"));
    let cluster = Cluster::with_pod(older.pod.uid.as_str());
    node.write(&older);
    assert!(writer(&cluster).reconcile(&node.journal, true).await);
    cluster.count();
    assert!(writer(&cluster).reconcile(&node.journal, true).await);
    assert_eq!(cluster.count(), (1, 0), "another agent finds nothing to do");
    // While no agent runs.
    node.remove(&older);
    node.write(&newer);
    assert!(writer(&cluster).reconcile(&node.journal, true).await);
    assert_eq!(cluster.interfaces(), ["net1"]);
    assert!(cluster.annotation(ANNOTATION).unwrap().contains("\"containerId\": \"c2\""));
}

#[tokio::test]
async fn what_the_userspace_cni_wrote_of_other_interfaces_stays() {
    let (node, ours) = (Node::new(), attached("c1", "net2"));
    let cluster = Cluster::with_pod(ours.pod.uid.as_str());
    let others = json!([{"containerId": "c0", "ifName": "net1", "name": "x", "config": {"iftype": "memif", "memif": {"socketfile": "m.sock"}}, "ipResult": {"ips": [{"address": "10.0.0.1/24"}]}}]);
    cluster.pod.lock().unwrap()["metadata"]["annotations"][ANNOTATION] = others.to_string().into();
    node.write(&ours);
    assert!(writer(&cluster).reconcile(&node.journal, true).await);
    assert_eq!(cluster.interfaces(), ["net1", "net2"]);
    assert!(cluster.annotation(ANNOTATION).unwrap().contains("m.sock"));
}

#[tokio::test]
async fn another_pod_of_the_name_is_not_written_and_a_failed_request_is_retried() {
    let (node, ours) = (Node::new(), attached("c1", "net1"));
    node.write(&ours);
    let cluster = Cluster::with_pod("another");
    assert!(writer(&cluster).reconcile(&node.journal, true).await, "there is nothing to be done");
    assert_eq!(cluster.annotation(ANNOTATION), None);
    let mut writer = writer(&cluster);
    *cluster.pod.lock().unwrap() = json!(false);
    assert!(!writer.reconcile(&node.journal, true).await);
    *cluster.pod.lock().unwrap() = Cluster::with_pod(ours.pod.uid.as_str()).pod.lock().unwrap().clone();
    assert!(writer.reconcile(&node.journal, true).await);
    assert_eq!(cluster.interfaces(), ["net1"]);
}
