//! How large objects are, as the API server stores and sends them.

use kube::Client;
use kube::api::ListParams;
use kube::core::Request;
use serde_json::Value;

const PAGE: u32 = 500;

/// The objects of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bytes {
    pub(crate) count: usize,
    pub(crate) largest: usize,
    pub(crate) all: usize,
}

/// Sizes of all objects of a resource of usnet, such as `compilednetworks`.
pub(crate) async fn bytes_of(client: &Client, resource: &str) -> Bytes {
    let requests = Request::new(format!("/apis/usnet.dev/v1alpha1/{resource}"));
    let mut bytes = Bytes::default();
    let mut parameters = ListParams::default().limit(PAGE);
    loop {
        let page: Value =
            client.request(requests.list(&parameters).expect("a request")).await.expect("objects are listed");
        for item in page["items"].as_array().into_iter().flatten() {
            let length = item.to_string().len();
            bytes.count += 1;
            bytes.all += length;
            bytes.largest = bytes.largest.max(length);
        }
        match page["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
            Some(token) => parameters = ListParams::default().limit(PAGE).continue_token(token),
            None => return bytes,
        }
    }
}
