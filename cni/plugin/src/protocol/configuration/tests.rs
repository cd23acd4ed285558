use super::*;
use serde_json::json;
use usnet_crds::EngineKind;

fn parse(document: &Value) -> Configuration {
    Configuration::parse(document.to_string().as_bytes()).unwrap()
}

#[test]
fn what_is_not_an_object_is_rejected() {
    for text in ["", "[]", "{", "\"x\"", "null"] {
        let rejected = Configuration::parse(text.as_bytes());
        assert!(matches!(rejected, Err(ConfigurationError::NotAnObject(_))), "{text}");
    }
}

#[test]
fn supported_versions_are_accepted_and_others_rejected() {
    for version in ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
        assert_eq!(parse(&json!({"cniVersion": version})).version().unwrap().as_str(), version);
    }
    for document in [json!({}), json!({"cniVersion": ""})] {
        assert_eq!(parse(&document).version().unwrap(), SpecVersion::V0_1_0, "{document}");
    }
    for document in [json!({"cniVersion": "0.3"}), json!({"cniVersion": "9.9.9"})] {
        assert!(matches!(parse(&document).version(), Err(ConfigurationError::Version(_))), "{document}");
    }
    assert!(matches!(parse(&json!({"cniVersion": 1})).version(), Err(ConfigurationError::WrongType { .. })));
}

#[test]
fn a_network_is_named_by_a_network_name() {
    assert_eq!(parse(&json!({"network": "blue"})).network().unwrap().as_str(), "blue");
    assert!(matches!(parse(&json!({})).network(), Err(ConfigurationError::Missing { key: "network", .. })));
    assert!(matches!(parse(&json!({"network": "../x"})).network(), Err(ConfigurationError::Network(_))));
}

#[test]
fn a_legacy_configuration_names_a_bridge() {
    let document = json!({"Host": {"engine": "vpp", "iftype": "memif", "bridge": {"bridgeName": "4"}}, "IPAM": {"Type": "static"}});
    let Target::Bridge(legacy) = parse(&document).target().unwrap() else { panic!("{document}") };
    assert_eq!((legacy.engine, legacy.bridge.as_str()), (EngineKind::Vpp, "4"));
    assert_eq!(parse(&document).ipam().unwrap(), Some(json!({"type": "static"})));
    let called_with = parse(&document).for_ipam("x", &json!({"type": "static"}));
    assert!(called_with.get("IPAM").is_none() && called_with["ipam"] == json!({"type": "static"}), "{called_with}");
    let both = json!({"network": "blue", "host": {"engine": "?"}, "kubeconfig": "/etc/shadow"});
    assert_eq!(parse(&both).target().unwrap(), Target::Network("blue".parse().unwrap()));
    let wrong = parse(&json!({"host": {"engine": "?"}})).target().unwrap_err();
    assert!(wrong.to_string().contains("\"host.engine\" is \"?\""), "{wrong}");
}

#[test]
fn an_empty_ipam_part_means_no_ipam() {
    for document in [json!({}), json!({"ipam": null}), json!({"ipam": {}})] {
        assert_eq!(parse(&document).ipam().unwrap(), None);
    }
    assert!(parse(&json!({"ipam": "host-local"})).ipam().is_err());
}

#[test]
fn an_ipam_plugin_gets_the_networks_name_and_part_and_no_previous_result() {
    let configuration = parse(&json!({
        "cniVersion": "1.0.0", "name": "mine", "type": "userspace", "network": "blue", "prevResult": {"ips": []}, "args": {"x": 1}
    }));
    let expected = json!({
        "cniVersion": "1.0.0", "name": "blue", "type": "userspace", "network": "blue", "ipam": {"type": "static"}, "args": {"x": 1}
    });
    assert_eq!(configuration.for_ipam("blue", &json!({"type": "static"})), expected);
}

#[test]
fn a_previous_result_is_taken_only_from_a_plugin_that_knew_the_sandbox() {
    let sandbox = Path::new("/run/netns/p");
    let with = |result: Value| parse(&json!({"prevResult": result}));
    let interface = |sandbox: &str| json!({"name": "eth0", "sandbox": sandbox});
    let of_pod = with(json!({"interfaces": [interface(""), interface("/run/netns/p")], "ips": []}));
    assert_eq!(of_pod.result_of_chain(sandbox).unwrap(), of_pod.keys().get("prevResult"));
    for absent in [parse(&json!({})), with(Value::Null)] {
        assert_eq!(absent.result_of_chain(sandbox).unwrap(), None);
    }
    for foreign in [
        json!({}),
        json!({"dns": {"nameservers": ["10.0.0.1"]}}),
        json!({"interfaces": [interface("/run/netns/q"), {"name": "br0"}], "ips": [{"address": "10.0.0.2/24"}]}),
    ] {
        let configuration = with(foreign.clone());
        let refused = configuration.result_of_chain(sandbox);
        assert!(matches!(refused, Err(ConfigurationError::ForeignResult(_))), "{foreign}");
    }
}

#[test]
fn an_ipam_plugin_sees_one_name_and_no_result() {
    let own = parse(&json!({"Name": "other", "name": "mine", "PrevResult": {}, "prevresult": {}, "x": 1}));
    let expected = json!({"cniVersion": "0.3.1", "name": "pool", "ipam": {}, "x": 1});
    assert_eq!(own.for_ipam("pool", &json!({})), expected);
}

#[test]
fn an_ipam_without_a_plugin_is_none() {
    for ipam in [json!({}), json!({"type": ""}), json!({"type": "", "subnet": "10.0.0.0/24"})] {
        assert_eq!(parse(&json!({"network": "blue", "ipam": ipam})).ipam().unwrap(), None);
        assert_eq!(parse(&json!({"host": {"engine": "ovs-dpdk"}, "ipam": ipam})).ipam().unwrap_or_default(), None);
    }
    assert!(parse(&json!({"network": "blue", "ipam": {"subnet": "10.0.0.0/24"}})).ipam().unwrap().is_some());
}

#[test]
fn an_ipam_plugin_is_called_in_a_version_with_lists_of_addresses() {
    let version = |document: Value| parse(&document).for_ipam("pool", &json!({"type": "x"}))["cniVersion"].clone();
    assert_eq!(version(json!({"name": "a"})), "0.3.1");
    assert_eq!(version(json!({"cniVersion": "0.2.0"})), "0.3.1");
    for same in ["0.3.0", "0.3.1", "1.1.0"] {
        assert_eq!(version(json!({"cniVersion": same})), same);
    }
}
