//! Requests of other users, and those that are sent too often for `kubectl`.

use super::kinds::Kind;
use super::{send, send_with};
use hyper::{Method, Request};
use serde_json::{Value, json};

/// A request to the API server. With `dry_run`, nothing is stored.
#[derive(Clone, Debug)]
pub(crate) struct ApiRequest {
    method: Method,
    /// With its query.
    path: String,
    content_type: &'static str,
    body: String,
}

const DRY_RUN: &str = "dryRun=All";

impl ApiRequest {
    fn new(method: Method, path: String, content_type: &'static str, body: &Value) -> Self {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        Self { method, path, content_type, body }
    }

    /// Creates an object, whose fields have to be known.
    pub(crate) fn create(object: &Value) -> Self {
        let (objects, _) = place(object);
        Self::new(Method::POST, format!("{objects}?fieldValidation=Strict"), "application/json", object)
    }

    /// Applies an object, or its `subresource` if that is not empty, on the server's side, with all
    /// fields of others that it names. It asks for `patch`, and for `create` if there is no object.
    pub(crate) fn apply(manager: &str, subresource: &str, object: &Value) -> Self {
        let (objects, name) = place(object);
        let separator = if subresource.is_empty() { "" } else { "/" };
        let path = format!("{objects}/{name}{separator}{subresource}?fieldManager={manager}&force=true");
        Self::new(Method::PATCH, path, "application/apply-patch+yaml", object)
    }

    /// Merges into an object.
    pub(crate) fn merge((kind, namespace, name): (&str, &str, &str), patch: &Value) -> Self {
        let path = format!("{}/{name}?fieldManager=tests", of(kind).path(namespace));
        Self::new(Method::PATCH, path, "application/merge-patch+json", patch)
    }

    pub(crate) fn delete((kind, namespace, name): (&str, &str, &str)) -> Self {
        let path = format!("{}/{name}?propagationPolicy=Background", of(kind).path(namespace));
        Self::new(Method::DELETE, path, "application/json", &Value::Null)
    }

    /// Deletes the object of a manifest.
    pub(crate) fn delete_object(object: &Value) -> Self {
        let (objects, name) = place(object);
        Self::new(Method::DELETE, format!("{objects}/{name}"), "application/json", &Value::Null)
    }

    /// Lists the objects of all namespaces.
    pub(crate) fn list(kind: &str) -> Self {
        Self::new(Method::GET, format!("{}?limit=1", of(kind).path_of_all()), "application/json", &Value::Null)
    }

    /// Requests a token of a service account of usnet, as one of the pod has it if there is one.
    pub(crate) fn token(account: &str, namespace: &str, pod: Option<&str>) -> Self {
        let path = format!("{}/{account}/token", of("serviceaccount").path(namespace));
        let pod = pod.map(|name| json!({"kind": "Pod", "apiVersion": "v1", "name": name}));
        let body = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": [], "boundObjectRef": pod},
        });
        Self::new(Method::POST, path, "application/json", &body)
    }

    /// The same request, of which nothing is stored.
    pub(crate) fn dry_run(mut self) -> Self {
        let separator = if self.path.contains('?') { '&' } else { '?' };
        self.path = format!("{}{separator}{DRY_RUN}", self.path);
        self
    }

    /// Sends it with a token, or as the administrator. The error is the one of `kubectl`.
    pub(crate) fn send(&self, token: Option<&str>) -> Result<Value, String> {
        let request = Request::builder().method(&self.method).uri(&self.path).header("Content-Type", self.content_type);
        let request = request.body(self.body.clone().into_bytes()).map_err(|error| error.to_string())?;
        let sent = match token {
            Some(token) => send_with(token, request),
            None => send(request),
        };
        sent.map_err(|error| match error {
            kube::Error::Api(status) => format!("Error from server ({}): {}", status.reason, status.message),
            error => format!("{} {}: {error}", self.method, self.path),
        })
    }
}

fn of(kind: &str) -> &'static Kind {
    Kind::named(kind).unwrap_or_else(|| panic!("add {kind} to the kinds of tests"))
}

/// Returns the path of the objects beside a manifest, and its name.
fn place(object: &Value) -> (String, &str) {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
    let (version, name) = (text("/apiVersion").unwrap(), text("/metadata/name").unwrap());
    let kind = Kind::of_any_group(text("/kind").unwrap());
    (kind.path_in(version, text("/metadata/namespace").unwrap_or("default")), name)
}
