//! Reservations, validated by the CEL rules of the CRD and by `validate` in Rust, and compared with
//! what a network allows.

use crate::support::rejected;
use serde_json::{Value, json};
use usnet_crds::reservation::allowed::Allowed;
use usnet_crds::reservation::validate::validate;
use usnet_crds::validate::validate as validate_network;
use usnet_crds::{UserspaceNetwork, UserspaceReservationSpec};

fn spec(changes: &Value) -> Value {
    let mut spec = json!({"network": "blue", "pod": "db-0"});
    for (field, value) in changes.as_object().unwrap() {
        spec[field] = value.clone();
    }
    spec
}

fn by_cel(spec: &Value) -> Vec<String> {
    let object = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceReservation",
        "metadata": {"name": "db", "namespace": "team-a"}, "spec": spec,
    });
    rejected(&object, None)
}

fn by_rust(spec: &Value) -> Vec<String> {
    let spec: UserspaceReservationSpec = serde_json::from_value(spec.clone()).unwrap();
    let problems = validate(&spec).err().map(|invalid| invalid.problems).unwrap_or_default();
    problems.into_iter().map(|problem| problem.field).collect()
}

#[test]
fn valid_reservations_are_accepted_by_both() {
    for changes in [
        json!({}),
        json!({"pod": "db-{0..99}", "ips": ["10.0.0.5/24", "fd00::5/64"], "mac": "02:00:00:00:00:01"}),
        json!({"vlan": {"mode": "Access", "tag": 7}, "rateLimit": {"egressKbps": 1000}}),
        json!({"vlan": {"mode": "Trunk", "trunks": (1..33).collect::<Vec<_>>()}}),
    ] {
        let spec = spec(&changes);
        assert_eq!((by_cel(&spec), by_rust(&spec)), (Vec::new(), Vec::new()), "{changes}");
    }
}

#[test]
fn invalid_reservations_are_rejected_by_both_with_the_field() {
    for (changes, field) in [
        (json!({"network": "a.b"}), "spec.network"),
        (json!({"pod": "Web"}), "spec.pod"),
        (json!({"pod": "db-{0..100}"}), "spec.pod"),
        (json!({"pod": "db-{9..0}"}), "spec.pod"),
        (json!({"ips": ["10.0.0.5"]}), "spec.ips"),
        (json!({"mac": "01:00:5e:00:00:01"}), "spec.mac"),
        (json!({"vlan": {"mode": "Trunk", "trunks": (1..34).collect::<Vec<_>>()}}), "spec.vlan.trunks"),
        (json!({"rateLimit": {"egressKbps": -5}}), "spec.rateLimit.egressKbps"),
    ] {
        let spec = spec(&changes);
        let (cel, rust) = (by_cel(&spec), by_rust(&spec));
        assert!(cel.len() == 1 && cel[0].starts_with(field), "{changes}: {cel:?}");
        assert!(rust.len() == 1 && rust[0].starts_with(field), "{changes}: {rust:?}");
    }
}

fn allowed(changes: &Value, reservations: &Value) -> Allowed {
    let mut spec = json!({"engine": "OVS", "namespaceSelector": {}, "reservations": reservations});
    for (field, value) in changes.as_object().unwrap() {
        spec[field] = value.clone();
    }
    let object = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "metadata": {"name": "blue"}, "spec": spec,
    });
    let network: UserspaceNetwork = serde_json::from_value(object).unwrap();
    validate_network(&network).unwrap().reservations.unwrap()
}

/// The fields that the network refuses.
fn refused(allowed: &Allowed, changes: &Value) -> Vec<String> {
    let spec: UserspaceReservationSpec = serde_json::from_value(spec(changes)).unwrap();
    let fixed = allowed.fixed("team-a", &validate(&spec).unwrap());
    let problems = fixed.err().map(|invalid| invalid.problems).unwrap_or_default();
    problems.into_iter().map(|problem| problem.field).collect()
}

#[test]
fn a_network_allows_what_it_names_and_nothing_else() {
    let nothing = allowed(&json!({}), &json!({}));
    let everything = allowed(
        &json!({"port": {"rateLimit": {"ingressKbps": 5}}}),
        &json!({"ips": ["10.0.0.0/8", "fd00::/8"], "macs": "Any", "vlans": ["1-4094"], "maxRateLimit": {}}),
    );
    for (changes, field) in [
        (json!({"ips": ["10.0.0.5/24"]}), "spec.ips[0]"),
        (json!({"ips": ["fd00::5/64"]}), "spec.ips[0]"),
        (json!({"mac": "00:16:3e:00:00:01"}), "spec.mac"),
        (json!({"vlan": {"mode": "Access", "tag": 7}}), "spec.vlan"),
        (json!({"vlan": {"mode": "NativeTagged", "tag": 7, "trunks": [8]}}), "spec.vlan"),
    ] {
        assert_eq!(refused(&nothing, &changes), [field], "{changes}");
        assert_eq!(refused(&everything, &changes), Vec::<String>::new(), "{changes}");
    }
    let rate = json!({"rateLimit": {"ingressKbps": 10}});
    assert_eq!(refused(&nothing, &rate), Vec::<String>::new(), "the port has no limit");
    assert_eq!(refused(&everything, &rate), Vec::<String>::new());
    let limited = allowed(&json!({"port": {"rateLimit": {"ingressKbps": 5}}}), &json!({}));
    assert_eq!(refused(&limited, &rate), ["spec.rateLimit.ingressKbps"]);
    assert_eq!(refused(&limited, &json!({"rateLimit": {"egressKbps": 10}})), ["spec.rateLimit.ingressKbps"]);
    assert_eq!(refused(&limited, &json!({"rateLimit": {"ingressKbps": 4}})), Vec::<String>::new());
}

/// As if the administrator had written an entry of `attachments`.
#[test]
fn the_rules_of_attachments_are_those_of_reservations() {
    let all = json!({"ips": ["10.0.0.0/8"], "macs": "Any", "vlans": ["1-4094"]});
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.0.0.0/24"}]]});
    let memif = json!({"memif": {"mode": "IP"}});
    for (network, changes, field) in [
        (json!({"ipam": ipam}), json!({"ips": ["10.0.1.5/24"]}), "spec.ips[0]"),
        (json!({}), json!({"ips": ["10.0.0.0/24"]}), "spec.ips[0]"),
        (json!({}), json!({"pod": "a-{0..9}", "ips": ["10.0.0.250/24"]}), "spec.ips"),
        (json!({}), json!({"ips": ["10.0.0.5/24", "10.0.0.5/16"]}), "spec.ips"),
        (json!({"engine": "VPP"}), json!({"vlan": {"mode": "Trunk", "trunks": [4]}}), "spec.vlan.mode"),
        (
            json!({"engine": "VPP", "gateway": {"addresses": ["10.0.0.1/24"]}}),
            json!({"ips": ["10.0.0.1/24"]}),
            "spec.ips",
        ),
        (
            json!({"engine": "VPP", "port": memif, "gateway": {"addresses": ["10.0.0.1/24"]}}),
            json!({"rateLimit": {"egressKbps": 5}}),
            "spec",
        ),
        (json!({"port": {"type": "Veth"}}), json!({"rateLimit": {"egressKbps": 5}}), "spec.rateLimit.egressKbps"),
    ] {
        let found = refused(&allowed(&network, &all), &changes);
        assert!(found.iter().any(|refused| refused.starts_with(field)), "{changes}: {found:?}");
    }
    let of_static = allowed(&json!({"ipam": {"type": "static", "addresses": [{"address": "10.0.0.9/24"}]}}), &all);
    assert_eq!(refused(&of_static, &json!({"mac": "02:00:00:00:00:01"})), Vec::<String>::new());
}
