//! Every key of Intel's userspace CNI and of its fork: its effect, or the error that rejects it.

mod combinations;
mod keys;
mod properties;

use super::*;
use crate::{Bridge, MemifMode, Port, PortType, Queues, RateLimit, RingSize, SocketRole, Vlan, VlanTag};
use serde_json::json;

/// As in Intel's examples: Open vSwitch is the client, the program in the pod the server.
fn open_vswitch() -> Value {
    json!({
        "cniVersion": "0.3.1", "type": "userspace", "name": "userspace-ovs-net-1",
        "kubeconfig": "/etc/cni/net.d/multus.d/multus.kubeconfig",
        "logFile": "/var/log/userspace-ovs-net-1-cni.log", "logLevel": "debug",
        "host": {
            "engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "bridge",
            "vhost": {"mode": "client"}, "bridge": {"bridgeName": "br-4"},
        },
        "container": {"engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "interface", "vhost": {"mode": "server"}},
        "ipam": {"type": "host-local", "subnet": "10.56.217.0/24", "routes": [{"dst": "0.0.0.0/0"}]},
    })
}

/// With VPP's memif.
fn vpp() -> Value {
    json!({
        "cniVersion": "0.3.1", "type": "userspace", "name": "userspace-vpp-net-1",
        "host": {
            "engine": "vpp", "iftype": "memif", "netType": "bridge",
            "memif": {"role": "master", "mode": "ethernet"}, "bridge": {"bridgeName": "4"},
        },
        "container": {"engine": "vpp", "iftype": "memif", "netType": "interface", "memif": {"role": "slave", "mode": "ethernet"}},
    })
}

/// With vhost-user, as in the fork.
fn vpp_vhost_user() -> Value {
    json!({
        "type": "userspace",
        "host": {"engine": "vpp", "iftype": "vhostuser", "vhost": {"mode": "server"}, "bridge": {"bridgeName": "5"}},
        "container": {"vhost": {"mode": "client"}},
    })
}

/// Sets the value at that pointer, or removes it if it is null.
fn with(mut whole: Value, pointer: &str, value: Value) -> Value {
    let (above, key) = pointer.rsplit_once('/').unwrap();
    let mut place = &mut whole;
    for key in above.split('/').filter(|key| !key.is_empty()) {
        place = place.as_object_mut().unwrap().entry(key).or_insert_with(|| json!({}));
        if !place.is_object() {
            *place = json!({});
        }
    }
    let place = place.as_object_mut().unwrap();
    if value.is_null() {
        place.remove(key)
    } else {
        place.insert(key.to_owned(), value)
    };
    whole
}

fn read(whole: &Value) -> Result<Legacy, InvalidLegacy> {
    Legacy::read(whole.as_object().unwrap())
}

fn tag(number: i64) -> VlanTag {
    number.try_into().unwrap()
}

#[test]
fn intels_examples_are_parsed() {
    let legacy = read(&open_vswitch()).unwrap();
    assert_eq!((legacy.engine, legacy.bridge.as_str()), (EngineKind::OpenVswitch, "br-4"));
    assert_eq!(legacy.network_name().as_str(), "ovs-br-4");
    assert_eq!(legacy.ipam, Some(open_vswitch()["ipam"].clone()));
    let port = Port { port_type: PortType::VhostUser, ..Port::default() };
    assert_eq!(legacy.settings.port(), port);

    let legacy = read(&vpp()).unwrap();
    assert_eq!((legacy.engine, legacy.network_name().as_str()), (EngineKind::Vpp, "vpp-4"));
    assert_eq!(legacy.settings.port(), Port { port_type: PortType::Memif, ..Port::default() });
    assert_eq!(legacy.ipam, None);

    let legacy = read(&vpp_vhost_user()).unwrap();
    assert_eq!(legacy.settings.port_type, PortType::VhostUser);
    assert_eq!(legacy.settings.engine_role, SocketRole::Server);
}

#[test]
fn keys_are_case_insensitive() {
    fn upper(value: &Value) -> Value {
        match value {
            Value::Object(parts) => parts.iter().map(|(key, value)| (key.to_uppercase(), upper(value))).collect(),
            Value::Array(items) => items.iter().map(upper).collect(),
            other => other.clone(),
        }
    }
    for example in [open_vswitch(), vpp(), vpp_vhost_user()] {
        let (as_it_is, upper_case) = (read(&example).unwrap(), read(&upper(&example)).unwrap());
        assert_eq!((&as_it_is.bridge, &as_it_is.settings), (&upper_case.bridge, &upper_case.settings));
        assert_eq!(as_it_is.ipam.is_some(), upper_case.ipam.is_some());
        assert!(matches!(parse_nad_config(&upper(&example).to_string()), Ok(Some(NadConfig::Legacy(_)))));
    }
}

#[test]
fn a_key_in_two_spellings_is_refused_because_writers_sort_them_differently() {
    let twice = with(open_vswitch(), "/host/bridge/BRIDGENAME", json!("br-int"));
    let refused = read(&twice).unwrap_err();
    assert_eq!(refused.key(), "host.bridge.bridgeName");
    assert!(refused.to_string().contains("\"BRIDGENAME\" and as \"bridgeName\""), "{refused}");
}

#[test]
fn our_plugin_is_found_in_a_plugin_list() {
    let tuning = json!({"type": "tuning"});
    let list = |plugins: &[&Value]| json!({"cniVersion": "1.0.0", "name": "x", "plugins": plugins}).to_string();
    let found = parse_nad_config(&list(&[&tuning, &vpp()])).unwrap();
    assert_eq!(found, Some(NadConfig::Legacy(Box::new(read(&vpp()).unwrap()))));
    assert_eq!(parse_nad_config(&list(&[&tuning])), Ok(None));
    assert_eq!(parse_nad_config(&list(&[&vpp(), &vpp()])), Err(InvalidNadConfig::SeveralPlugins));
}

#[test]
fn configurations_for_other_plugins_are_ignored() {
    let blue = NadConfig::Network("blue".parse().unwrap());
    assert_eq!(parse_nad_config(r#"{"type": "userspace", "network": "blue"}"#), Ok(Some(blue.clone())));
    // With `network` the legacy keys are ignored, even when they are invalid.
    let both = with(open_vswitch(), "/network", json!("blue"));
    assert_eq!(parse_nad_config(&with(both, "/host/engine", json!("?")).to_string()), Ok(Some(blue)));
    for foreign in ["", "  ", r#"{"type": "bridge", "host": {}}"#, "{}", r#"{"type": 7}"#] {
        assert_eq!(parse_nad_config(foreign), Ok(None), "{foreign}");
    }
    for unreadable in ["{", "[]", "userspace"] {
        assert_eq!(parse_nad_config(unreadable), Err(InvalidNadConfig::NotJson), "{unreadable}");
    }
    assert_eq!(parse_nad_config(r#"{"type": "userspace"}"#), Err(InvalidNadConfig::Neither));
    assert_eq!(parse_nad_config(r#"{"type": "userspace", "network": 7}"#), Err(InvalidNadConfig::NetworkType));
    assert!(matches!(
        parse_nad_config(r#"{"type": "userspace", "network": "../x"}"#),
        Err(InvalidNadConfig::Network(_))
    ));
}

#[test]
fn a_version_that_no_plugin_speaks_is_named() {
    let single = |version: Value| json!({"cniVersion": version, "type": "userspace", "network": "blue"}).to_string();
    let list = |version: Value| json!({"cniVersion": version, "plugins": [{"type": "userspace", "network": "blue"}]});
    for known in CNI_VERSIONS.iter().copied().chain([""]) {
        assert!(matches!(parse_nad_config(&single(json!(known))), Ok(Some(NadConfig::Network(_)))), "{known}");
    }
    for unknown in [json!("9.9.9"), json!("0.3"), json!(1), json!(null), json!("9".repeat(60_000))] {
        for config in [single(unknown.clone()), list(unknown.clone()).to_string()] {
            let refused = parse_nad_config(&config).unwrap_err();
            assert!(matches!(refused, InvalidNadConfig::Version(_)), "{refused}");
            let text = refused.to_string();
            assert!(text.contains("0.3.0, 0.3.1") && text.len() < 200, "{text}");
        }
    }
    assert_eq!(parse_nad_config(r#"{"type": "bridge", "cniVersion": "9.9.9"}"#), Ok(None));
    let mut legacy = open_vswitch();
    legacy["cniVersion"] = json!("0.9.9");
    assert!(matches!(parse_nad_config(&legacy.to_string()), Err(InvalidNadConfig::Version(_))));
}

#[test]
fn a_network_with_the_requested_settings_matches() {
    let legacy = read(&with(vpp(), "/host/mtu", json!(9000))).unwrap();
    let bridge = |mtu: i64| Bridge { mtu: mtu.try_into().unwrap(), ..Bridge::named(legacy.bridge.clone()) };
    let differences = |bridge: &Bridge, port: &Port| {
        let all = legacy.settings.mismatches(legacy.engine, bridge, port, None);
        all.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let own = legacy.settings.port();
    // Without a number of queues that of the network is used.
    let many = Port { queues: Queues::try_from(4).unwrap(), ring_size: RingSize::try_from(2).unwrap(), ..own.clone() };
    assert_eq!(differences(&bridge(9000), &many), Vec::<String>::new());
    assert_eq!(differences(&bridge(1500), &own), [r#""host.mtu" requests 9000, and the network has 1500"#]);
    let elsewhere = Port { vlan: Some(Vlan::Access { tag: tag(7) }), ..own };
    let expected = r#""host.bridge.vlanId" requests no VLAN, and the network has VLAN 7"#;
    assert_eq!(differences(&bridge(9000), &elsewhere), [expected]);
    let other = Port { port_type: PortType::VhostUser, ..Port::default() };
    assert_eq!(differences(&bridge(9000), &other), [r#""host.iftype" requests memif, and the network has vhostuser"#]);
}

#[test]
fn ends_of_a_socket_are_compared() {
    let legacy = read(&vpp_vhost_user()).unwrap();
    let connecting = Port { port_type: PortType::VhostUser, ..Port::default() };
    let differences =
        legacy.settings.mismatches(legacy.engine, &Bridge::named(legacy.bridge.clone()), &connecting, None);
    let expected = r#""host.vhost.mode" requests VPP as server, and the network has VPP as client"#;
    assert_eq!(differences.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    assert_eq!(legacy.settings.rate_limit, RateLimit::default());
}

#[test]
fn keys_of_the_host_without_effect_are_named() {
    let mut config = open_vswitch();
    assert_eq!(ignored_keys(&config.to_string()), Vec::<String>::new());
    config["host"]["vhost"]["Group"] = json!("qemu");
    config["host"]["memif"] = json!({"secret": "x", "role": null});
    config["host"]["MTU"] = json!(1400);
    assert_eq!(ignored_keys(&config.to_string()), ["host.memif.secret", "host.vhost.Group"]);
    let list = json!({"plugins": [{"type": "tuning", "host": {"a": 1}}, config]}).to_string();
    assert_eq!(ignored_keys(&list).len(), 2);
    assert_eq!(ignored_keys(r#"{"type": "userspace", "network": "blue", "host": {"a": 1}}"#), Vec::<String>::new());
    assert_eq!(ignored_keys("no JSON"), Vec::<String>::new());
}
