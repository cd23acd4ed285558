//! Reads from the audit log what the programs of usnet asked for.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::right::{NAMESPACE, Right};

/// What was asked for, by the API server's decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// What roles allowed.
    pub allowed: BTreeSet<Right>,
    /// What they did not.
    pub refused: BTreeSet<Right>,
}

/// A line of the log that is none.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the audit log is no event of audit.k8s.io/v1")]
pub struct UsageError {
    /// Its number, from 1.
    line: usize,
    #[source]
    source: serde_json::Error,
}

/// The fields of `audit.k8s.io/v1`, `Event`, that matter here.
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
    /// Empty for who was not known, as with a token of a service account that is gone.
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

/// What the service accounts of usnet were seen to ask for. What tests ask with stolen tokens is
/// left out: they ask with kubectl.
///
/// # Errors
/// When a line cannot be read. A last line without its end is one that is still being written.
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
        let object = self.object_ref.as_ref().filter(|_| namespace == NAMESPACE)?;
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

    /// A server-side apply that made the object needed `create` beside `patch`.
    fn implied(&self, right: Right) -> Vec<Right> {
        let made = self.response_status.as_ref().is_some_and(|status| status.code == Some(201));
        match right.verb.as_str() {
            "patch" if made => vec![Right { verb: "create".to_owned(), ..right.clone() }, right],
            _ => vec![right],
        }
    }
}
