//! The subnets of gateways: within a routing domain they do not overlap.

use super::model::Cluster;
use serde_json::json;

/// Creates or changes a network with this gateway.
fn gateway(cluster: &mut Cluster, name: &str, addresses: &[&str], domain: Option<&str>) {
    let mut gateway = json!({"addresses": addresses});
    if let Some(domain) = domain {
        gateway["routingDomain"] = domain.into();
    }
    cluster.network(name, &json!({"engine": "VPP", "namespaceSelector": {}, "gateway": gateway}));
}

fn compiled(cluster: &Cluster, network: &str) -> Option<Vec<String>> {
    let gateway = cluster.compiled.get(network)?.gateway.as_ref()?;
    Some(gateway.addresses.iter().map(ToString::to_string).collect())
}

#[test]
fn of_two_overlapping_subnets_in_a_routing_domain_the_older_network_has_its() {
    let mut cluster = Cluster::new();
    gateway(&mut cluster, "older", &["10.1.0.1/16"], Some("a"));
    gateway(&mut cluster, "a-younger", &["fd00::1/64", "10.1.7.1/24"], Some("a"));
    cluster.settle();
    assert_eq!(cluster.condition("older", "Ready"), "True AllNodes");
    assert_eq!(cluster.condition("a-younger", "Accepted"), "False SubnetTaken");
    assert_eq!(cluster.condition("a-younger", "Stalled"), "True SubnetTaken");
    let message = cluster.message("a-younger", "Ready");
    let text = "spec.gateway.addresses: subnet 10.1.7.0/24 of network a-younger overlaps with 10.1.0.0/16 of network older in routing domain a, ";
    assert!(message.starts_with(text) && message.contains("use another subnet"), "{message}");
    assert_eq!((compiled(&cluster, "a-younger"), cluster.generated("a-younger").len()), (None, 0));
    cluster.delete_network("older");
    cluster.settle();
    assert_eq!(cluster.condition("a-younger", "Ready"), "True AllNodes");
    assert!(!cluster.generated("a-younger").is_empty());
}

#[test]
fn subnets_of_other_domains_and_of_networks_without_one_may_be_the_same() {
    let mut cluster = Cluster::new();
    for (name, domain) in [("blue", Some("a")), ("green", Some("b")), ("red", None), ("white", None)] {
        gateway(&mut cluster, name, &["10.1.0.1/24", "fd00::1/64"], domain);
    }
    gateway(&mut cluster, "yellow", &["10.1.1.1/24", "fd00:0:0:1::1/64"], Some("a"));
    cluster.settle();
    for name in ["blue", "green", "red", "white", "yellow"] {
        assert_eq!(cluster.condition(name, "Ready"), "True AllNodes", "{name}");
    }
    // IPv6 alone overlaps.
    gateway(&mut cluster, "yellow", &["10.1.1.1/24", "fd00::9/48"], Some("a"));
    cluster.settle();
    assert_eq!(cluster.condition("yellow", "Accepted"), "False SubnetTaken");
}

#[test]
fn an_edit_to_a_subnet_that_is_taken_changes_nothing_on_nodes() {
    let mut cluster = Cluster::new();
    gateway(&mut cluster, "older", &["10.1.0.1/24"], Some("a"));
    gateway(&mut cluster, "younger", &["10.2.0.1/24"], Some("a"));
    cluster.settle();
    gateway(&mut cluster, "older", &["10.2.0.9/24"], Some("a"));
    cluster.settle();
    assert_eq!(cluster.condition("older", "Accepted"), "False SubnetTaken");
    assert_eq!(compiled(&cluster, "older").unwrap(), ["10.1.0.1/24"]);
    assert_eq!(cluster.condition("younger", "Ready"), "True AllNodes");
    // What nodes have is not free either.
    gateway(&mut cluster, "third", &["10.1.0.5/24"], Some("a"));
    cluster.settle();
    assert_eq!(cluster.condition("third", "Accepted"), "False SubnetTaken");
    // Two that swap their subnets need a step between.
    gateway(&mut cluster, "older", &["10.3.0.1/24"], Some("a"));
    cluster.settle();
    assert_eq!(compiled(&cluster, "older").unwrap(), ["10.3.0.1/24"]);
    assert_eq!(cluster.condition("third", "Ready"), "True AllNodes");
}
