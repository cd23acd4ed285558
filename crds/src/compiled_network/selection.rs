//! Which nodes a network selects. Pure, and shared: the agent decides by it what its node carries,
//! and the controller counts nodes by it.

use crate::EngineKind;
use kube::core::{Selector, SelectorExt};
use std::collections::{BTreeMap, BTreeSet};

/// Whether a network of this engine selects a node with these labels. Without a selector it selects
/// every node that has the engine; `missing` are the engines that the agent of the node never
/// reached.
pub fn selects(
    selector: Option<&Selector>,
    engine: EngineKind,
    labels: &BTreeMap<String, String>,
    missing: &BTreeSet<EngineKind>,
) -> bool {
    match selector {
        Some(selector) => selector.matches(labels),
        None => !missing.contains(&engine),
    }
}

/// A resourceVersion as a number. Within one resource they are comparable (documented since
/// Kubernetes 1.35; with etcd they always were). Anything else counts as the oldest version.
pub fn resource_version(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

    #[test]
    fn a_selector_decides_alone_and_without_one_the_engine_does() {
        let labels = BTreeMap::from([("rack".to_owned(), "a".to_owned())]);
        let selector = |value: &str| {
            let labels = Some([("rack".to_owned(), value.to_owned())].into());
            Selector::try_from(LabelSelector { match_labels: labels, ..LabelSelector::default() }).unwrap()
        };
        let without_ovs = BTreeSet::from([EngineKind::OpenVswitch]);
        assert!(selects(Some(&selector("a")), EngineKind::OpenVswitch, &labels, &without_ovs));
        assert!(!selects(Some(&selector("b")), EngineKind::OpenVswitch, &labels, &BTreeSet::new()));
        assert!(!selects(None, EngineKind::OpenVswitch, &labels, &without_ovs));
        assert!(selects(None, EngineKind::Vpp, &labels, &without_ovs));
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(resource_version(Some("1000")) > resource_version(Some("999")));
        assert_eq!((resource_version(None), resource_version(Some("x"))), (0, 0));
    }
}
