//! What alerts and the dashboard ask for exists.

use prometheus::{IntGauge, Registry};
use std::collections::BTreeSet;
use std::path::Path;

/// The names of usnet's metrics in a text.
fn names(text: &str) -> BTreeSet<&str> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = text.split(|character| !is_part(character)).filter(|word| word.starts_with("usnet_"));
    let base = |word| ["_bucket", "_sum", "_count"].iter().find_map(|end| str::strip_suffix(word, end)).unwrap_or(word);
    words.map(base).collect()
}

/// All that controllers and agents register.
fn registry() -> Registry {
    let registry = Registry::new();
    usnet_controller::run::metrics::Metrics::register(&registry).unwrap();
    usnet_policies::metrics::Metrics::register(&registry).unwrap();
    usnet_agent::report::metrics::Metrics::new().unwrap().register(&registry).unwrap();
    registry
}

#[test]
fn alerts_and_the_dashboard_use_metrics_that_exist() {
    let registry = registry();
    // A name that is taken cannot be registered again.
    let exists = |name: &str| registry.register(Box::new(IntGauge::new(name, "Of a test.").unwrap())).is_err();
    assert!(!exists("usnet_controller_other"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/components/prometheus");
    for file in ["alerts.yaml", "dashboard.json"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let used = names(&text);
        assert!(used.len() > 5, "{file}: {used:?}");
        for name in used {
            assert!(exists(name), "{file} uses {name}, which neither controllers nor agents have");
        }
    }
}

#[test]
fn the_page_of_metrics_has_each_that_is_registered() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md")).unwrap();
    let documented: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name).collect();
    let families = registry().gather();
    let registered: Vec<&str> = families.iter().map(prometheus::proto::MetricFamily::name).collect();
    assert!(registered.len() > 5, "{registered:?}");
    for name in registered {
        assert!(documented.contains(name), "docs/metrics.md lacks {name}");
    }
    let registry = registry();
    let is_free = |name: &str| registry.register(Box::new(IntGauge::new(name, "Of a test.").unwrap())).is_ok();
    // What is counted elsewhere than in these registries.
    let elsewhere = |name: &&str| name.starts_with("usnet_port_") || ["usnet_build_info"].contains(name);
    let unknown: Vec<&str> = documented.into_iter().filter(|name| !elsewhere(name) && is_free(name)).collect();
    assert_eq!(unknown, Vec::<&str>::new(), "docs/metrics.md has metrics that do not exist");
}
