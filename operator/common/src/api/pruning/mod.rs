//! Answers of the API server without what is not used, removed while they arrive. What users write
//! into the metadata of their objects, and what the API server records there of each write, never
//! is in the memory of this process: neither of lists, nor of watches, nor of single objects.
//!
//! - [`rules`]: what is used of each kind of object;
//! - [`pruner`]: removes the rest from JSON text that arrives in pieces.

mod pruner;
mod rules;
#[cfg(test)]
mod tests;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame};
use kube::Client;
use kube::client::Body;
use pruner::Pruner;
use tower::{BoxError, service_fn};

/// A client whose answers are pruned. Errors are passed on as they are: they are texts of the API
/// server.
pub(crate) fn pruned(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: hyper::Request<Body>| {
        let client = client.clone();
        async move {
            let rules = rules::of(request.uri().path());
            let answer = client.send(request).await.map_err(BoxError::from)?;
            let mut pruner = answer.status().is_success().then(|| Pruner::new(rules));
            let prune = move |bytes: Bytes| match &mut pruner {
                Some(pruner) => Bytes::from(pruner.push(&bytes)),
                None => bytes,
            };
            Ok::<_, BoxError>(answer.map(|body| body.map_frame(pieces(prune))))
        }
    });
    Client::new(service, namespace)
}

/// Changes each piece of a body.
fn pieces(mut change: impl FnMut(Bytes) -> Bytes) -> impl FnMut(Frame<Bytes>) -> Frame<Bytes> {
    move |frame| frame.map_data(&mut change)
}
