//! A request that a guard has to refuse.

use crate::support::api::ApiRequest;
use crate::support::cluster::check;
use crate::support::control_plane::tokens::RequestClient;
use serde_json::{Value, json};

/// A request that has to be refused.
#[derive(Clone)]
pub(crate) struct Attack {
    thief: RequestClient,
    request: ApiRequest,
    /// Whether the thief's role does not allow it.
    pub(crate) by_role: bool,
    /// Whether a policy does not.
    pub(crate) by_policy: bool,
}

impl Attack {
    fn new(thief: RequestClient, request: ApiRequest) -> Self {
        Self { thief, request: request.dry_run(), by_role: false, by_policy: false }
    }

    /// A server-side apply of an object or of its subresource, which asks for nothing but `patch`
    /// (and `create` where there is no object).
    pub(crate) fn apply(thief: RequestClient, subresource: &'static str, object: &Value) -> Self {
        Self::new(thief, ApiRequest::apply("thief", subresource, object))
    }

    /// A deletion of an object: its kind, its namespace and its name.
    pub(crate) fn delete(thief: RequestClient, object: (&str, &str, &str)) -> Self {
        Self::new(thief, ApiRequest::delete(object))
    }

    /// A new label of an object: its kind, its namespace and its name.
    pub(crate) fn label(thief: RequestClient, object: (&str, &str, &str)) -> Self {
        Self::new(thief, ApiRequest::merge(object, &json!({"metadata": {"labels": {"x": "y"}}})))
    }

    /// A list of the objects of all namespaces.
    pub(crate) fn list(thief: RequestClient, kind: &str) -> Self {
        Self { thief, request: ApiRequest::list(kind), by_role: false, by_policy: false }
    }

    pub(crate) fn role(self) -> Self {
        Self { by_role: true, ..self }
    }

    pub(crate) fn policy(self) -> Self {
        Self { by_policy: true, ..self }
    }

    /// Sends it.
    pub(crate) fn send(&self) -> Result<Value, String> {
        self.thief.send(&self.request)
    }

    /// Tries it and complains if it does not go as it should.
    pub(crate) fn try_it(&self, is_refused: bool) -> Result<(), String> {
        let attempt = format!("{:?}: {:?}", self.thief, self.request);
        match self.send() {
            Ok(_) => check(!is_refused, format!("{attempt} was carried out")),
            Err(answer) => {
                let says_so = answer.contains("Forbidden") || answer.contains("forbidden");
                check(is_refused && says_so, format!("{attempt}: {answer}"))
            }
        }
    }
}
