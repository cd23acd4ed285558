use super::*;

fn read(raw: Value) -> Result<NetworkSelectionElement, NetworkSelectionError> {
    NetworkSelectionElement::read(raw, 1, &mut BTreeSet::new())
}

#[test]
fn an_element_becomes_the_configuration_that_multus_would_pass() {
    let raw = json!({
        "name": "blue", "ips": ["10.0.0.5/24"], "mac": "02:00:00:00:00:01", "bandwidth": {"ingressRate": 2048}, "portMappings": [{"hostPort": 1}],
        "cni-args": {"x": {"y": 1}, "default-route": ["10.9.9.9"]}, "default-route": ["10.0.0.1"],
    });
    let whole = json!({
        "cniVersion": "1.0.0", "name": "pods", "type": "userspace", "networks": "FromPodAnnotations", "prevResult": {"ips": []},
        "runtimeConfig": {"io.kubernetes.cri.pod-annotations": {}, "mac": "02:00:00:00:00:99"},
    });
    let whole = Configuration::parse(whole.to_string().as_bytes()).unwrap();
    let expected = json!({
        "cniVersion": "1.0.0", "name": "pods", "type": "userspace", "network": "blue",
        "runtimeConfig": {
            "ips": ["10.0.0.5/24"], "mac": "02:00:00:00:00:01", "bandwidth": {"ingressRate": 2048}, "portMappings": [{"hostPort": 1}]
        },
        "args": {"cni": {"x": {"y": 1}, "default-route": ["10.0.0.1"]}},
    });
    let expected = Configuration::parse(expected.to_string().as_bytes()).unwrap();
    assert_eq!(read(raw).unwrap().configuration(&whole), expected);
}

#[test]
fn unsupported_keys_are_rejected_by_key_and_value() {
    for (key, _) in UNSUPPORTED {
        let reported = read(json!({"name": "blue", key: "vm-1"})).unwrap_err().to_string();
        assert!(reported.contains(key) && reported.contains("vm-1"), "{reported}");
        assert!(read(json!({"name": "blue", key: null})).is_ok());
    }
}

#[test]
fn a_namespace_is_not_needed_and_must_be_one() {
    assert!(read(json!({"name": "blue", "namespace": "db"})).is_ok());
    let rejected = read(json!({"name": "blue", "namespace": "../db"}));
    assert!(matches!(rejected, Err(NetworkSelectionError::Name(InvalidName::Namespace(_)))), "{rejected:?}");
}
