//! Which nodes a network selects. Pure, and shared: the agent decides by it what its node carries,
//! and the controller counts nodes by it.

use crate::EngineKind;
use crate::uplink::validate::ValidUplink;
use kube::core::{Expression, Selector, SelectorExt};
use std::collections::{BTreeMap, BTreeSet};

/// How much of a selector a message shows, in characters. Selectors of users have some dozen.
const SELECTOR_TEXT_MAX: usize = 200;

/// Whether a network of this engine selects a node with these labels. Without a selector it selects
/// every node that has the engine, and the uplink if it has one; `missing` are the engines that the
/// agent of the node never reached.
pub fn selects(
    selector: Option<&Selector>,
    engine: EngineKind,
    uplink: Option<&ValidUplink>,
    labels: &BTreeMap<String, String>,
    missing: &BTreeSet<EngineKind>,
) -> bool {
    match selector {
        Some(selector) => selector.matches(labels),
        None => !missing.contains(&engine) && uplink.is_none_or(|uplink| uplink.nic(labels, missing).is_some()),
    }
}

/// The first requirement of a selector that these labels do not meet, for users. None if they meet
/// all.
pub fn unmet_requirement(selector: &Selector, labels: &BTreeMap<String, String>) -> Option<String> {
    let unmet = selector.clone().into_iter().find(|requirement| !requirement.matches(labels))?;
    let key = &key_of(unmet.clone());
    let found = match labels.get(key) {
        Some(value) => format!("label {key} of the node is {value:?}"),
        None => format!("the node has no label {key}"),
    };
    Some(format!("\"{}\" is required, and {found}", shortened(&unmet.to_string())))
}

/// A label selector as `kubectl -l` takes it, for messages.
pub fn selector_text(selector: &Selector) -> String {
    shortened(&selector.to_string())
}

/// The keys of the labels that a selector looks at.
pub fn label_keys(selector: &Selector) -> impl Iterator<Item = String> + use<> {
    selector.clone().into_iter().map(key_of)
}

fn key_of(requirement: Expression) -> String {
    match requirement {
        Expression::In(key, _)
        | Expression::NotIn(key, _)
        | Expression::Equal(key, _)
        | Expression::NotEqual(key, _)
        | Expression::Exists(key)
        | Expression::DoesNotExist(key) => key,
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SELECTOR_TEXT_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
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
        assert!(selects(Some(&selector("a")), EngineKind::OpenVswitch, None, &labels, &without_ovs));
        assert!(!selects(Some(&selector("b")), EngineKind::OpenVswitch, None, &labels, &BTreeSet::new()));
        assert!(!selects(None, EngineKind::OpenVswitch, None, &labels, &without_ovs));
        assert!(selects(None, EngineKind::Vpp, None, &labels, &without_ovs));
    }

    #[test]
    fn the_first_requirement_that_is_not_met_is_named_with_what_the_node_has() {
        let labels = BTreeMap::from([("rack".to_owned(), "b".to_owned()), ("zone".to_owned(), "x".to_owned())]);
        let unmet = |requirement: Expression| unmet_requirement(&Selector::from(requirement), &labels);
        let values = || ["a".to_owned(), "c".to_owned()].into();
        for (requirement, text) in [
            (
                Expression::Equal("rack".into(), "a".into()),
                "\"rack=a\" is required, and label rack of the node is \"b\"",
            ),
            (Expression::In("row".into(), values()), "\"row in (a,c)\" is required, and the node has no label row"),
            (Expression::DoesNotExist("zone".into()), "\"!zone\" is required, and label zone of the node is \"x\""),
        ] {
            assert_eq!(unmet(requirement).as_deref(), Some(text));
        }
        assert_eq!(unmet(Expression::Exists("rack".into())), None);
        let long = Selector::from(Expression::Equal("a".into(), "é".repeat(300)));
        assert_eq!(selector_text(&long).chars().count(), SELECTOR_TEXT_MAX + 1);
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(resource_version(Some("1000")) > resource_version(Some("999")));
        assert_eq!((resource_version(None), resource_version(Some("x"))), (0, 0));
    }
}
