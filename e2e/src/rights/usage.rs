//! Reads the requests of the programs of usnet from the audit log.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::right::{NAMESPACES, Right};

/// The rights that requests needed, by the decision of the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub allowed: BTreeSet<Right>,
    pub refused: BTreeSet<Right>,
}

/// An invalid line of the log.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the audit log is not an event of audit.k8s.io/v1")]
pub struct UsageError {
    /// The number of the line, from 1.
    line: usize,
    #[source]
    source: serde_json::Error,
}

/// The fields of `Event` of `audit.k8s.io/v1` that matter here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    verb: String,
    user: User,
    #[serde(default)]
    user_agent: String,
    object_ref: Option<Reference>,
    response_status: Option<Status>,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Debug, Deserialize)]
struct User {
    /// Empty for an unauthenticated user, for example with a token of a deleted service account.
    #[serde(default)]
    username: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    #[serde(default)]
    api_group: String,
    resource: String,
    #[serde(default)]
    subresource: String,
    namespace: Option<String>,
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Status {
    code: Option<u16>,
}

#[derive(Debug, Default, Deserialize)]
struct Annotations {
    #[serde(rename = "authorization.k8s.io/decision", default)]
    decision: String,
}

/// Returns the rights that requests of usnet's service accounts needed. Requests of tests with
/// stolen tokens, which are made with kubectl, do not count.
///
/// # Errors
/// When a line is invalid. An incomplete last line is being written, and is ignored.
pub fn usage(log: &str) -> Result<Usage, UsageError> {
    let mut usage = Usage::default();
    for (index, line) in log.split_inclusive('\n').enumerate().filter(|(_, line)| line.ends_with('\n')) {
        let event: Event = serde_json::from_str(line).map_err(|source| UsageError { line: index + 1, source })?;
        if let Some(right) = event.right().filter(|_| !event.user_agent.starts_with("kubectl")) {
            match event.annotations.decision.as_str() {
                "allow" => usage.allowed.extend(event.implied(right)),
                "forbid" => usage.refused.extend(event.implied(right)),
                _ => (),
            }
        }
    }
    Ok(usage)
}

impl Event {
    fn right(&self) -> Option<Right> {
        let (namespace, account) = self.user.username.strip_prefix("system:serviceaccount:")?.split_once(':')?;
        let object = self.object_ref.as_ref().filter(|_| NAMESPACES.contains(&namespace))?;
        let resource = match object.subresource.as_str() {
            "" => object.resource.clone(),
            part => format!("{}/{part}", object.resource),
        };
        Some(Right {
            account: account.to_owned(),
            group: object.api_group.clone(),
            resource,
            verb: self.verb.clone(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
        })
    }

    /// Returns all rights that the request needed: a server-side apply that created the object
    /// needed `create` and `patch`.
    fn implied(&self, right: Right) -> Vec<Right> {
        let is_created = self.response_status.as_ref().is_some_and(|status| status.code == Some(201));
        match right.verb.as_str() {
            "patch" if is_created => vec![Right { verb: "create".to_owned(), ..right.clone() }, right],
            _ => vec![right],
        }
    }
}
