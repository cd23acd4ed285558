//! Annotations, which are free text of anyone who may write the object: values of keys that usnet
//! or Kubernetes writes are kept, the others are not. Pure.

use super::REMOVED;
use serde_json::{Map, Value};

/// The domain of usnet's own annotations.
const DOMAIN: &str = "usnet.dev";
/// Annotations of Kubernetes and Multus that say something about usnet's programs.
const KNOWN: [&str; 8] = [
    "deployment.kubernetes.io/revision",
    "deprecated.daemonset.template.generation",
    "kubectl.kubernetes.io/default-container",
    "kubectl.kubernetes.io/restartedAt",
    "kubernetes.io/config.hash",
    "kubernetes.io/config.mirror",
    "kubernetes.io/config.source",
    "k8s.v1.cni.cncf.io/resourceName",
];

/// Removes the values of unknown keys.
pub(super) fn reduce(annotations: &mut Map<String, Value>) {
    for (key, value) in annotations.iter_mut().filter(|(key, _)| !is_known(key)) {
        if !value.is_null() && key != REMOVED {
            *value = Value::String(REMOVED.to_owned());
        }
    }
}

fn is_known(key: &str) -> bool {
    let domain = key.split_once('/').map(|(domain, _)| domain);
    let is_own = domain
        .is_some_and(|domain| domain.strip_suffix(DOMAIN).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    is_own || KNOWN.contains(&key)
}
