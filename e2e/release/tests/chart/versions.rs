//! The chart, the documentation and the test bed name the same versions of Kubernetes, and the
//! oldest one serves what is installed.

use super::{chart, checkout, helm, refusal};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use usnet_release::chart::kustomize::{Kustomization, objects};

/// A minor version, as 32 of 1.32.5.
type Minor = u32;

fn read(path: &str) -> String {
    fs::read_to_string(checkout().join(path)).unwrap()
}

/// From `1.32`, `v1.32.5` or `1.32.5,`.
fn minor(word: &str) -> Option<Minor> {
    let word = word.trim_matches(|it: char| !it.is_ascii_digit());
    word.strip_prefix("1.")?.split('.').next()?.parse().ok()
}

/// The versions of Kubernetes that a test bed can have.
fn tested() -> BTreeSet<Minor> {
    let folders = fs::read_dir(checkout().join("e2e/tools")).unwrap().map(|entry| entry.unwrap());
    let folders = folders.filter(|entry| entry.file_name().to_str().unwrap().starts_with("kubernetes"));
    let version = |text: String| {
        let line = text.lines().find(|line| line.contains("k8s.io/kubernetes v")).unwrap().to_owned();
        minor(line.split_once("k8s.io/kubernetes ").unwrap().1.split(' ').next().unwrap()).unwrap()
    };
    folders.map(|entry| version(fs::read_to_string(entry.path().join("go.mod")).unwrap())).collect()
}

/// The cells of the row of install.md: oldest, why, tested.
fn row() -> Vec<String> {
    let page = read("docs/install.md");
    let row = page.lines().find(|line| line.starts_with("| Kubernetes |")).unwrap();
    row.split('|').skip(2).map(|cell| cell.trim().to_owned()).collect()
}

#[test]
fn all_name_the_versions_of_the_test_bed() {
    let tested = tested();
    let oldest = *tested.first().unwrap();
    assert!(read("config/chart/Chart.yaml").contains(&format!("kubeVersion: \">=1.{oldest}.0-0\"\n")));
    let readme = read("README.md");
    let named = readme.split_once("Tested with Kubernetes ").unwrap().1.split(['(', ';']).next().unwrap();
    assert_eq!(named.split_whitespace().filter_map(minor).collect::<BTreeSet<_>>(), tested, "README.md: {named}");
    let row = row();
    assert_eq!(row.first().and_then(|cell| minor(cell)), Some(oldest), "docs/install.md: {row:?}");
    let named: BTreeSet<Minor> = row.get(2).unwrap().split_whitespace().filter_map(minor).collect();
    assert_eq!(named, tested, "docs/install.md: {row:?}");
}

/// What Kubernetes 1.32 serves, of what `config/` uses, and what other projects' CRDs do.
const SERVED_BY_OLDEST: [&str; 8] = [
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "apps/v1",
    "monitoring.coreos.com/v1",
    "networking.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "v1",
];
/// The components that need a newer version, each with the kind that it lacks.
const NEED_NEWER: [(&str, &str); 2] =
    [("components/legacy-pods", "MutatingAdmissionPolicy"), ("components/resource-claims", "DeviceClass")];

/// Whether Kubernetes 1.32 serves an object of this API version and kind. Of the kinds that came
/// later, those in an API version that it has are named.
fn is_served(version: &str, kind: &str) -> bool {
    SERVED_BY_OLDEST.contains(&version) && !kind.starts_with("MutatingAdmissionPolicy")
}

/// The kinds that Kubernetes 1.32 does not serve, of what the components make of `config/base`,
/// which includes none of them.
fn unserved(components: &[&str]) -> BTreeSet<String> {
    let config = checkout().join("config");
    let rendered = Kustomization { config: &config, resources: &["base"], components }.render().unwrap();
    let text = |object: &Value, key: &str| object[key].as_str().unwrap().to_owned();
    let unserved = rendered.values().filter(|it| !is_served(&text(it, "apiVersion"), &text(it, "kind")));
    unserved.map(|object| text(object, "kind")).collect()
}

#[test]
fn the_oldest_version_serves_all_but_two_components() {
    let folders = fs::read_dir(checkout().join("config/components")).unwrap();
    let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let components: Vec<String> = names
        .map(|name| format!("components/{name}"))
        .filter(|folder| checkout().join("config").join(folder).join("kustomization.yaml").is_file())
        .filter(|folder| NEED_NEWER.iter().all(|(newer, _)| folder != newer))
        .collect();
    assert!(components.len() > 8, "{components:?}");
    let components: Vec<&str> = components.iter().map(String::as_str).collect();
    assert_eq!(unserved(&components), BTreeSet::new());
    for (component, kind) in NEED_NEWER {
        assert!(unserved(&[component]).contains(kind), "{component}");
    }
}

#[test]
fn helm_installs_on_the_oldest_version_and_refuses_what_it_has_not() {
    let Some(chart) = chart() else { return };
    let oldest = *tested().first().unwrap();
    let settings = ["prometheus=true", "openshift=true", "hotPlug=true", "networkPolicy=true", "tenantRoles=true"];
    let version = format!("--kube-version=1.{oldest}.5");
    let rendered = helm(&["template", &version], chart.path(), &settings).unwrap();
    for (name, object) in objects(&rendered).unwrap() {
        assert!(is_served(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap()), "{name}");
    }
    let error = refusal(chart.path(), &format!("1.{oldest}.5"), &["resourceClaims=true"]);
    assert!(error.contains("resourceClaims needs Kubernetes 1.34 or later"), "{error}");
    helm(&["template", "--kube-version=1.34.0"], chart.path(), &["resourceClaims=true"]).unwrap();
    let error = refusal(chart.path(), "1.35.5", &["legacyPods=true"]);
    assert!(error.contains("legacyPods needs Kubernetes 1.36 or later"), "{error}");
    let error = refusal(chart.path(), &format!("1.{}.9", oldest - 1), &[]);
    assert!(error.contains("kubeVersion"), "{error}");
}
