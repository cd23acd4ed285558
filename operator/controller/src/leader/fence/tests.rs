use super::*;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::DeleteParams;
use std::sync::atomic::AtomicUsize;
use usnet_common::api::error::is_closed;

fn at_ten() -> Duration {
    Duration::from_secs(10)
}

fn never() -> Duration {
    Duration::MAX
}

#[test]
fn it_is_closed_until_the_lease_is_held_and_after_it_ended() {
    let fence = Fence::with_clock(at_ten);
    assert!(fence.check().is_err());
    fence.open_until(Duration::from_millis(10_001));
    assert!(fence.check().is_ok());
    fence.open_until(Duration::from_secs(10));
    assert!(fence.check().is_err());
    fence.open_until(Duration::from_secs(11));
    fence.close();
    assert!(fence.check().is_err());
}

#[test]
fn a_clock_that_cannot_be_read_proves_nothing() {
    let fence = Fence::with_clock(never);
    fence.open_until(Duration::MAX);
    assert!(fence.check().is_err());
}

#[tokio::test]
async fn a_closed_fence_lets_no_request_through() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let refusing = service_fn(move |_request| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Err::<http::Response<kube::client::Body>, _>(BoxError::from("sent")) }
    });
    let client = Client::new(refusing, "default");
    let fence = Arc::new(Fence::with_clock(at_ten));
    let namespaces: Api<Namespace> = Api::all(fence.client(&client));

    let error = namespaces.delete("a", &DeleteParams::default()).await.unwrap_err();
    assert!(is_closed(&error), "{error}");
    assert_eq!(sent.load(Ordering::SeqCst), 0);

    fence.open_until(Duration::from_secs(11));
    let error = namespaces.delete("a", &DeleteParams::default()).await.unwrap_err();
    assert!(!is_closed(&error), "{error}");
    assert_eq!(sent.load(Ordering::SeqCst), 1);
}
