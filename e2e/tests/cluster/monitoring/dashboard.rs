//! The queries of the dashboard.

use super::prometheus::Prometheus;
use serde_json::Value;

/// Asserts that each query of each panel has had data since Prometheus started.
pub(super) fn assert_panels_have_data(dashboard: &Value, prometheus: &Prometheus) {
    let panels = dashboard["panels"].as_array().unwrap();
    let (mut queries, mut without) = (0, Vec::new());
    for (panel, target) in panels.iter().flat_map(|panel| {
        let targets = panel["targets"].as_array().into_iter().flatten();
        targets.map(move |target| (panel, target))
    }) {
        let title = panel["title"].as_str().unwrap();
        let query = with_variables(target["expr"].as_str().unwrap());
        queries += 1;
        let series = prometheus.series(&query).unwrap();
        if series == 0 {
            without.push(format!("{title}: {query}"));
        }
    }
    assert!(without.is_empty(), "panels without data: {without:#?}");
    println!("{queries} queries of {} panels have data", panels.len());
}

/// A query as Grafana sends it while all nodes and networks are chosen.
fn with_variables(query: &str) -> String {
    let query = query.replace("$node", ".*").replace("$network", ".*").replace("$__rate_interval", "30s");
    assert!(!query.contains('$'), "a variable that the test does not know: {query}");
    query
}
