//! What the Prometheus Operator makes of a ServiceMonitor and of a PrometheusRule, for the fields
//! that `config/components/prometheus` uses; another field is an error. Minutes of rules become
//! seconds, so that a test sees alerts fire.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ServiceMonitor {
    selector: Selector,
    endpoints: Vec<Endpoint>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Selector {
    match_labels: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Endpoint {
    port: String,
    path: String,
    scheme: String,
    bearer_token_file: String,
    tls_config: TlsConfig,
    relabelings: Vec<Relabeling>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TlsConfig {
    insecure_skip_verify: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Relabeling {
    source_labels: Vec<String>,
    target_label: String,
}

/// The token of a pod of Prometheus.
const POD_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// The scrape configurations of a ServiceMonitor, with files in place of Prometheus' token and of
/// its discovery in Kubernetes.
pub(super) fn scrape_configs(monitor: &Value, token: &str, targets: &str) -> Vec<Value> {
    let (name, namespace) = (&monitor["metadata"]["name"], &monitor["metadata"]["namespace"]);
    let spec: ServiceMonitor = serde_json::from_value(monitor["spec"].clone()).unwrap();
    let config = |(index, endpoint): (usize, &Endpoint)| {
        assert_eq!(endpoint.bearer_token_file, POD_TOKEN, "Prometheus has another token");
        json!({
            "job_name": format!("serviceMonitor/{namespace}/{name}/{index}").replace('"', ""),
            "file_sd_configs": [{"files": [targets]}],
            "scheme": endpoint.scheme,
            "metrics_path": endpoint.path,
            "authorization": {"credentials_file": token},
            "tls_config": {"insecure_skip_verify": endpoint.tls_config.insecure_skip_verify},
            "relabel_configs": relabelings(&spec.selector, endpoint),
        })
    };
    spec.endpoints.iter().enumerate().map(config).collect()
}

fn relabelings(selector: &Selector, endpoint: &Endpoint) -> Vec<Value> {
    let keep = |label: String, value: &str| json!({"action": "keep", "source_labels": [label], "regex": value});
    let selected = selector.match_labels.iter().map(|(label, value)| keep(service_label(label), value));
    let named = [("service_name", "job"), ("namespace", "namespace"), ("pod_name", "pod")]
        .map(|(from, to)| json!({"source_labels": [format!("__meta_kubernetes_{from}")], "target_label": to}));
    let own = endpoint
        .relabelings
        .iter()
        .map(|own| json!({"source_labels": own.source_labels, "target_label": own.target_label}));
    let port = keep("__meta_kubernetes_endpoint_port_name".to_owned(), &endpoint.port);
    selected.chain([port]).chain(named).chain(own).collect()
}

/// What the discovery `endpoints` of Prometheus finds for a Service and its Endpoints, as a file of
/// targets: that of Debian is built without Kubernetes.
pub(super) fn targets(service: &Value, endpoints: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    for subset in endpoints["subsets"].as_array().into_iter().flatten() {
        let list = |field: &str| subset[field].as_array().into_iter().flatten();
        let addresses: Vec<&Value> = list("addresses").chain(list("notReadyAddresses")).collect();
        for (port, address) in list("ports").flat_map(|port| addresses.iter().map(move |address| (port, *address))) {
            let mut labels = json!({
                "__meta_kubernetes_namespace": service["metadata"]["namespace"],
                "__meta_kubernetes_service_name": service["metadata"]["name"],
                "__meta_kubernetes_endpoint_port_name": port["name"],
                "__meta_kubernetes_pod_name": address["targetRef"]["name"],
                "__meta_kubernetes_pod_node_name": address["nodeName"],
            });
            for (label, value) in service["metadata"]["labels"].as_object().into_iter().flatten() {
                labels[service_label(label)] = value.clone();
            }
            let target = format!("{}:{}", address["ip"].as_str().unwrap(), port["port"]);
            found.push(json!({"targets": [target], "labels": labels}));
        }
    }
    found
}

/// The label of discovery for a label of a Service.
fn service_label(label: &str) -> String {
    let label: String = label.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' }).collect();
    format!("__meta_kubernetes_service_label_{label}")
}

/// The rules of a PrometheusRule, with seconds instead of minutes.
pub(super) fn rules(rule: &Value) -> Value {
    let mut spec = rule["spec"].clone();
    for rule in spec["groups"].as_array_mut().unwrap().iter_mut().flat_map(|group| {
        let rules = group["rules"].as_array_mut().unwrap();
        rules.iter_mut()
    }) {
        rule["expr"] = with_short_ranges(rule["expr"].as_str().unwrap()).into();
        if let Some(pending) = rule["for"].as_str() {
            rule["for"] = format!("{}s", minutes(pending)).into();
        }
    }
    spec
}

/// The minutes of a duration of Prometheus.
pub(super) fn minutes(duration: &str) -> u64 {
    let (number, unit) = duration.split_at(duration.len() - 1);
    let number: u64 = number.parse().unwrap();
    match unit {
        "m" => number,
        "h" => number * 60,
        _ => panic!("a rule has a duration in other units than minutes and hours: {duration}"),
    }
}

/// An expression whose ranges, such as `[10m]`, are seconds instead of minutes.
fn with_short_ranges(expression: &str) -> String {
    let mut parts = expression.split('[');
    let start = parts.next().unwrap_or_default().to_owned();
    parts.fold(start, |before, part| {
        let (range, after) = part.split_once(']').unwrap();
        format!("{before}[{}s]{after}", minutes(range))
    })
}

#[test]
fn minutes_of_rules_are_seconds() {
    assert_eq!(
        with_short_ranges("max_over_time(a[1h]) - min_over_time(b{c=\"d\"}[10m]) > 0"),
        "max_over_time(a[60s]) - min_over_time(b{c=\"d\"}[10s]) > 0"
    );
}
