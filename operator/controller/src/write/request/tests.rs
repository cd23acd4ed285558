//! What is sent to remove finalizers.

use super::send;
use crate::cache::attachments::ObjectName;
use crate::cache::parse;
use crate::write::{AttachmentWrite, FinalizerChange, Write};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::BoxError;
use usnet_crds::{attachment, network};

/// Sends a write; returns the path and the body of its request.
async fn sent(write: Write) -> (String, Value) {
    let (sender, mut requests) = tokio::sync::mpsc::unbounded_channel();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let sender = sender.clone();
        async move {
            let (head, body) = request.into_parts();
            let body: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
            sender.send((head.uri.path().to_owned(), body))?;
            Err::<http::Response<Body>, BoxError>("no answer".into())
        }
    });
    let _failed = send(Client::new(service, "default"), write).await;
    requests.recv().await.unwrap()
}

fn removal(index: usize, finalizer: &str) -> Value {
    let path = format!("/metadata/finalizers/{index}");
    json!([
        {"op": "test", "path": "/metadata/uid", "value": "uid-1"},
        {"op": "test", "path": path, "value": finalizer},
        {"op": "remove", "path": path},
    ])
}

/// Server-side apply would leave what another field manager has set too.
#[tokio::test]
async fn a_finalizer_is_removed_whoever_else_has_set_it() {
    let (network, uplink, uid) = ("blue".to_owned(), "fab".to_owned(), "uid-1".to_owned());
    let change = FinalizerChange::Remove { index: 1 };
    let (path, body) = sent(Write::Finalizer { network, uid: uid.clone(), change }).await;
    assert!(path.ends_with("/userspacenetworks/blue"), "{path}");
    assert_eq!(body, removal(1, network::FINALIZER));
    let (path, body) = sent(Write::UplinkFinalizer { uplink, uid: uid.clone(), change }).await;
    assert!(path.ends_with("/userspaceuplinks/fab"), "{path}");
    assert_eq!(body, removal(1, network::FINALIZER));
    let name = ObjectName { namespace: "team-a".to_owned(), name: "extra".to_owned() };
    let (path, body) = sent(Write::Attachment(AttachmentWrite::RemoveFinalizer { name, uid, index: 0 })).await;
    assert!(path.ends_with("/namespaces/team-a/userspaceattachments/extra"), "{path}");
    assert_eq!(body, removal(0, attachment::spec::FINALIZER));
}

#[test]
fn the_index_is_that_among_all_finalizers() {
    let of = |finalizers: Value| {
        let object = json!({"metadata": {"name": "extra", "namespace": "team-a", "finalizers": finalizers}});
        parse::attachment(&serde_json::from_str(&object.to_string()).unwrap()).1.finalizer
    };
    assert_eq!(of(json!(["example.com/other", attachment::spec::FINALIZER])), Some(1));
    assert_eq!(of(json!(["example.com/other"])), None);
}
