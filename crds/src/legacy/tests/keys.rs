//! One row for each key and value.

use super::*;
use crate::KilobitsPerSecond;
use std::collections::BTreeSet;

/// Ignored keys, with values that would be invalid if they were read.
fn ignored() -> Vec<(&'static str, Value)> {
    vec![
        ("/cniVersion", json!("9.9.9")),
        ("/name", json!("../x")),
        ("/kubeconfig", json!("/etc/shadow")),
        ("/sharedDir", json!("../../etc")),
        ("/logFile", json!("/etc/passwd")),
        ("/logLevel", json!(7)),
        ("/dns", json!({"nameservers": ["x"]})),
        ("/capabilities", json!({"mac": true})),
        ("/runtimeConfig", json!({"CNIDeviceInfoFile": "/etc/x"})),
        ("/prevResult", json!({})),
        ("/unknown", json!({"host": 7})),
        ("/host/unknown", json!("/x")),
        ("/host/vhost/group", json!("root")),
        ("/container/vhost/socketfile", json!("sock-1")),
        ("/host/vhost/enableGso", json!("x")),
        ("/host/vhost/enablePacked", json!("x")),
        ("/host/vhost/enableEventIdx", json!("x")),
        ("/host/vhost/ingressPolicingBurst", json!("x")),
        ("/host/memif", json!({"role": "slave", "mode": "ip", "rxQueues": 300, "ringSize": 3, "secret": "x"})),
        ("/host/bridge/bridgeId", json!("x")),
        ("/container/engine", json!("?")),
        ("/container/iftype", json!("?")),
        ("/container/netType", json!("none")),
        ("/container/bridge", json!({"bridgeName": "/"})),
        ("/container/mtu", json!(1)),
    ]
}

#[test]
fn keys_that_say_nothing_here_change_nothing() {
    let usual = read(&open_vswitch()).unwrap();
    for (pointer, value) in ignored() {
        assert_eq!(read(&with(open_vswitch(), pointer, value)), Ok(usual.clone()), "{pointer}");
    }
    let usual = read(&vpp()).unwrap();
    for key in ["bufferSize", "secret", "noZeroCopy", "useDma"] {
        let pointer = format!("/host/memif/{key}");
        assert_eq!(read(&with(vpp(), &pointer, json!("x"))), Ok(usual.clone()), "{pointer}");
    }
    // With VPP the name wins over the id, whatever that is.
    assert_eq!(read(&with(vpp(), "/host/bridge/bridgeId", json!(77))), Ok(usual));
}

#[test]
fn bridge_names_are_those_of_intels_userspace_cni() {
    let bridge = |whole: Value| read(&whole).unwrap().bridge.to_string();
    assert_eq!(bridge(with(open_vswitch(), "/host/bridge", json!(null))), "br0");
    assert_eq!(bridge(with(open_vswitch(), "/host/bridge/bridgeName", json!(""))), "br0");
    assert_eq!(bridge(with(vpp(), "/host/bridge", json!({"bridgeId": 12}))), "12");
    assert_eq!(bridge(with(vpp(), "/host/bridge/bridgeName", json!("004"))), "4");
}

#[test]
fn vlans_are_those_of_the_fork() {
    let tags = BTreeSet::from([tag(7), tag(9)]);
    let (trunks, single) = (json!([9, 7, 7]), Some(Vlan::Access { tag: tag(5) }));
    let native = (
        Vlan::NativeTagged { tag: tag(5), trunks: tags.clone() },
        Vlan::NativeUntagged { tag: tag(5), trunks: tags.clone() },
    );
    for (bridge, vlan) in [
        (json!({"vlanId": 0}), None),
        (json!({"vlanId": 5}), single.clone()),
        (json!({"vlanId": 5, "vlanMode": "access"}), single),
        (json!({"trunks": trunks}), Some(Vlan::Trunk { trunks: tags.clone() })),
        (json!({"trunks": trunks, "vlanMode": "trunk"}), Some(Vlan::Trunk { trunks: tags })),
        (json!({"vlanId": 5, "trunks": trunks}), Some(native.0.clone())),
        (json!({"vlanId": 5, "trunks": trunks, "vlanMode": "native-tagged"}), Some(native.0)),
        (json!({"vlanId": 5, "trunks": trunks, "vlanMode": "native-untagged"}), Some(native.1)),
    ] {
        assert_eq!(
            read(&with(open_vswitch(), "/host/bridge", bridge.clone())).unwrap().settings.vlan,
            vlan,
            "{bridge}"
        );
    }
}

#[test]
fn numbers_of_the_fork_are_accepted() {
    let mut whole = with(vpp(), "/host/mtu", json!(9000));
    for (key, number) in [("rxQueues", 4), ("txQueues", 4), ("ringSize", 2048)] {
        whole = with(whole, &format!("/host/memif/{key}"), json!(number));
    }
    let settings = read(&whole).unwrap().settings;
    assert_eq!(settings.mtu.map(i64::from), Some(9000));
    assert_eq!(settings.queues.map(i64::from), Some(4));
    assert_eq!(settings.ring_size.map(i64::from), Some(2048));
    let limited = read(&with(open_vswitch(), "/host/vhost/ingressPolicingRate", json!(8000))).unwrap();
    let egress_kbps = Some(KilobitsPerSecond::try_from(8000).unwrap());
    assert_eq!(limited.settings.rate_limit, RateLimit { ingress_kbps: None, egress_kbps });
}

#[test]
fn the_mac_of_the_container_takes_precedence() {
    let mac = |whole: &Value| read(whole).unwrap().mac.map(|mac| mac.to_string());
    let hosts = with(open_vswitch(), "/host/mac", json!("02:00:00:00:00:01"));
    assert_eq!(mac(&hosts).as_deref(), Some("02:00:00:00:00:01"));
    let both = with(hosts, "/container/mac", json!("02:00:00:00:00:02"));
    assert_eq!(mac(&both).as_deref(), Some("02:00:00:00:00:02"));
}

#[test]
fn the_vhost_user_role_follows_from_the_other_end() {
    let silent = with(open_vswitch(), "/host/vhost", json!(null));
    assert_eq!(read(&silent).unwrap().settings.engine_role, SocketRole::Client, "the pod's program listens");
    let role = |whole: Value| read(&whole).unwrap().settings.engine_role;
    let listening = with(open_vswitch(), "/container", json!(null));
    assert_eq!(role(with(listening.clone(), "/host/vhost/mode", json!("server"))), SocketRole::Server);
    assert_eq!(role(with(listening, "/host/vhost", json!(null))), SocketRole::Server, "the default");
    let silent = with(with(vpp_vhost_user(), "/host/vhost", json!(null)), "/container", json!(null));
    assert_eq!(role(silent), SocketRole::Server, "the default of the legacy plugin");
    let connecting = with(with(vpp_vhost_user(), "/host/vhost/mode", json!("client")), "/container", json!(null));
    assert_eq!(role(connecting), SocketRole::Client);
}

#[test]
fn unsupported_values_are_rejected_by_their_key() {
    let refused = |whole: Value, key: &str, words: &str| {
        let error = read(&whole).expect_err(key);
        assert_eq!(error.key(), key, "{error}");
        assert!(error.to_string().contains(words), "{key}: {error}");
    };
    let ovs = |pointer: &str, value: Value| with(open_vswitch(), pointer, value);
    let memif = |pointer: &str, value: Value| with(vpp(), pointer, value);
    refused(json!({"type": "userspace"}), "host", "specifies engine and bridge");
    refused(json!({"host": []}), "host", "must be an object");
    refused(ovs("/host/engine", json!("ovs")), "host.engine", "use ovs-dpdk or vpp");
    refused(ovs("/host/engine", json!(null)), "host.engine", "missing");
    refused(ovs("/host/iftype", json!("memif")), "host.iftype", "Open vSwitch has no memif");
    refused(ovs("/host/iftype", json!("tap")), "host.iftype", "use vhostuser");
    refused(ovs("/host/iftype", json!(null)), "host.iftype", "missing");
    for kind in ["none", "interface", "Bridge"] {
        refused(ovs("/host/netType", json!(kind)), "host.netType", "use bridge");
    }
    refused(ovs("/host/vhost/mode", json!("server")), "container.vhost.mode", "one end is the client");
    refused(ovs("/host/vhost/mode", json!("both")), "host.vhost.mode", "use client or server");
    refused(ovs("/host/vhost/ingressPolicingRate", json!(-1)), "host.vhost.ingressPolicingRate", "-1");
    refused(ovs("/host/mtu", json!(100)), "host.mtu", "use 576 to 9702");
    refused(ovs("/host/mtu", json!("9000")), "host.mtu", "must be a whole number");
    refused(ovs("/container/mac", json!("01:00:5e:00:00:01")), "container.mac", "not valid");
    refused(ovs("/args", json!({"cni": {"ovnport": "x"}})), "args.cni.OvnPort", "OVN");
    refused(ovs("/ipam", json!("host-local")), "ipam", "must be an object");
    refused(ovs("/ipam/type", json!(7)), "ipam.type", "must be text");
    refused(memif("/host/memif/role", json!("slave")), "host.memif.role", "VPP is always the master");
    refused(memif("/container/memif/role", json!("master")), "container.memif.role", "slave");
    refused(memif("/host/memif/mode", json!("inject-punt")), "host.memif.mode", "use ethernet");
    refused(memif("/container/memif/mode", json!("ip")), "container.memif.mode", "both ends");
    let ip = with(memif("/container/memif", json!(null)), "/host/memif/mode", json!("ip"));
    refused(ip.clone(), "host.memif.mode", "Ethernet frames only");
    let routed = with(ip, "/host/netType", json!("interface"));
    refused(routed.clone(), "ipam", "host-local or static");
    refused(with(routed, "/ipam", json!({"type": "dhcp"})), "ipam", "host-local or static");
    refused(memif("/host/netType", json!("none")), "host.netType", "use bridge, or with vpp interface");
    refused(memif("/host/memif/rxQueues", json!(129)), "host.memif.rxQueues", "use 1 to 128");
    refused(memif("/host/memif/ringSize", json!(1000)), "host.memif.ringSize", "power of two");
    let uneven = memif("/host/memif/rxQueues", json!(2));
    refused(with(uneven, "/host/memif/txQueues", json!(4)), "host.memif.txQueues", "same number of queues");
}

#[test]
fn invalid_bridge_names_are_rejected() {
    for name in ["../x", "br/0", "-br", "--", "ovs-netdev", "br 0", "a\0b", "@abstract", &"b".repeat(300), "brü"] {
        let error = read(&with(open_vswitch(), "/host/bridge/bridgeName", json!(name))).expect_err(name);
        assert_eq!(error.key(), "host.bridge.bridgeName");
    }
    for name in ["br-4", "-1", "0", "16777216", "4.0", "+4", "99999999999999999999", " 4"] {
        let error = read(&with(vpp(), "/host/bridge/bridgeName", json!(name))).expect_err(name);
        assert_eq!(error.key(), "host.bridge.bridgeName");
    }
    for id in [json!(-1), json!(1 << 24), json!("4"), json!(4.5)] {
        let error = read(&with(vpp(), "/host/bridge", json!({"bridgeId": id}))).expect_err("an id");
        assert_eq!(error.key(), "host.bridge.bridgeId", "{id}");
    }
    let none = read(&with(vpp(), "/host/bridge", json!(null))).unwrap_err();
    assert_eq!(none.to_string(), "\"host.bridge.bridgeName\" is missing: write the bridge domain's id in digits");
}

#[test]
fn vlans_that_contradict_themselves_are_refused() {
    for (bridge, key) in [
        (json!({"vlanId": 4095}), "vlanId"),
        (json!({"vlanId": -5}), "vlanId"),
        (json!({"trunks": [0]}), "trunks"),
        (json!({"trunks": ["7"]}), "trunks"),
        (json!({"trunks": 7}), "trunks"),
        (json!({"vlanMode": "access"}), "vlanId"),
        (json!({"vlanMode": "trunk"}), "trunks"),
        (json!({"vlanMode": "native-tagged", "trunks": [7]}), "vlanId"),
        (json!({"vlanMode": "native-untagged", "vlanId": 7}), "trunks"),
        (json!({"vlanMode": "access", "vlanId": 7, "trunks": [8]}), "trunks"),
        (json!({"vlanMode": "trunk", "vlanId": 7, "trunks": [8]}), "vlanId"),
        (json!({"vlanMode": "dot1q-tunnel", "vlanId": 7}), "vlanMode"),
    ] {
        let error = read(&with(open_vswitch(), "/host/bridge", bridge.clone())).expect_err("a refusal");
        assert_eq!(error.key(), format!("host.bridge.{key}"), "{bridge}");
    }
}

#[test]
fn a_socket_file_is_a_name_and_never_a_path() {
    for name in ["../x", "/etc/passwd", "a/b", "..", ".", "a\0b", ".x", "-x", "@x", "a b", "net1.json", &"s".repeat(41)]
    {
        for (end, kind) in [("host", "vhost"), ("host", "memif"), ("container", "vhost"), ("container", "memif")] {
            let error = read(&with(vpp(), &format!("/{end}/{kind}/socketfile"), json!(name))).expect_err(name);
            assert_eq!(error.key(), format!("{end}.{kind}.socketfile"));
        }
    }
    let named = |whole: Value, pointer: &str| read(&with(whole, pointer, json!("s-1.sock"))).unwrap().socket_file;
    assert_eq!(named(vpp(), "/host/memif/socketfile").as_deref(), Some("s-1.sock"));
    assert_eq!(named(open_vswitch(), "/host/vhost/socketfile").as_deref(), Some("s-1.sock"));
    assert_eq!(named(vpp(), "/host/vhost/socketfile"), None, "it is a memif");
    assert_eq!(named(open_vswitch(), "/container/vhost/socketfile"), None, "the host's end named it");
}

/// The documentation names every key that is tested here.
#[test]
fn the_document_has_each_key() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/userspace-cni.md");
    let page = std::fs::read_to_string(path).unwrap();
    let mut keys: BTreeSet<&str> =
        ignored().into_iter().filter_map(|(pointer, _)| pointer.rsplit('/').next()).collect();
    keys.remove("unknown");
    keys.extend([
        "bufferSize",
        "secret",
        "noZeroCopy",
        "useDma",
        "engine",
        "iftype",
        "netType",
        "vhost.mode",
        "memif.role",
    ]);
    keys.extend([
        "memif.mode",
        "bridgeName",
        "vlanId",
        "trunks",
        "vlanMode",
        "mtu",
        "mac",
        "rxQueues",
        "txQueues",
        "ringSize",
    ]);
    keys.extend(["ingressPolicingRate", "OvnPort", "ipam", "plugins", "network"]);
    for key in keys {
        assert!(page.contains(&format!("`{key}`")) || page.contains(&format!(".{key}`")), "{key} is not in {path}");
    }
}

#[test]
fn frames_to_vpp_itself_have_the_gateway_of_their_subnets_on_a_bridge_of_their_own() {
    let interface = |example: Value, ipam: Value| {
        let whole = with(with(example, "/host/netType", json!("interface")), "/host/bridge", json!(null));
        read(&with(whole, "/ipam", ipam)).unwrap()
    };
    let subnet = || json!({"type": "host-local", "subnet": "10.57.1.0/24"});
    for example in [vpp, vpp_vhost_user] {
        let one = interface(example(), subnet());
        assert_eq!(one.settings.port().memif.mode, MemifMode::Ethernet);
        let gateway = one.settings.gateway.clone().unwrap();
        assert_eq!(gateway.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.57.1.1/24"]);
        // A bridge that is named is shared with those that name it.
        let named = with(with(example(), "/host/netType", json!("interface")), "/ipam", subnet());
        assert_eq!(read(&named).unwrap().bridge, read(&example()).unwrap().bridge);
    }
    // Without a subnet it follows from the configuration's name.
    let one = interface(vpp(), json!(null));
    let other = interface(with(vpp(), "/name", json!("other")), json!(null));
    assert_eq!((one.settings.gateway, &one.ipam), (None, &None));
    assert_ne!(one.bridge, other.bridge);
    assert_ne!(one.bridge, interface(vpp(), subnet()).bridge);
}

#[test]
fn routed_memifs_have_the_gateway_and_the_network_of_their_subnets() {
    let routed = |ipam: Value| {
        let whole = with(with(vpp(), "/host/netType", json!("interface")), "/host/memif/mode", json!("ip"));
        let whole = with(with(whole, "/container/memif/mode", json!("ip")), "/host/bridge", json!(null));
        read(&with(whole, "/ipam", ipam)).unwrap()
    };
    let one = routed(json!({"type": "host-local", "subnet": "10.57.1.0/24"}));
    assert_eq!(one.settings.port().memif.mode, MemifMode::Ip);
    let addresses = |legacy: &Legacy| {
        let gateway = legacy.settings.gateway.clone().unwrap();
        gateway.addresses.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(addresses(&one), ["10.57.1.1/24"]);
    // Of each family the first subnet, with the gateway that is named there.
    let ranges = json!([[{"subnet": "10.57.1.0/24", "gateway": "10.57.1.254"}, {"subnet": "10.9.0.0/24"}], [{"subnet": "fd00:1::/64"}]]);
    let both = routed(json!({"type": "host-local", "ranges": ranges}));
    assert_eq!(addresses(&both), ["10.57.1.254/24", "fd00:1::1/64"]);
    let fixed = routed(json!({"type": "static", "addresses": [{"address": "10.57.1.7/24"}]}));
    assert_eq!(addresses(&fixed), ["10.57.1.1/24"]);
    // Those with the same subnets are one network.
    assert_eq!((one.network_name(), &one.bridge), (fixed.network_name(), &fixed.bridge));
    assert_ne!(one.bridge, both.bridge);
    let named = with(with(vpp(), "/host/netType", json!("interface")), "/host/memif/mode", json!("ip"));
    let named = with(
        with(named, "/container/memif/mode", json!("ip")),
        "/ipam",
        json!({"type": "host-local", "subnet": "10.57.1.0/24"}),
    );
    let named = read(&named).unwrap();
    assert_eq!(named.bridge.as_str(), "4");

    // A network of users has to route in the same subnet, by any address.
    let bridge = Bridge::named(one.bridge.clone());
    let keys = |legacy: &Legacy, gateway: &Legacy| -> Vec<&str> {
        let (port, gateway) = (gateway.settings.port(), gateway.settings.gateway.as_ref());
        let all = legacy.settings.mismatches(legacy.engine, &bridge, &port, gateway);
        all.iter().map(|one| one.key).collect()
    };
    assert_eq!((keys(&one, &both), keys(&both, &one)), (vec![], vec!["ipam"]));
    let bridged = read(&vpp()).unwrap();
    assert_eq!(
        (keys(&bridged, &one), keys(&one, &bridged)),
        (vec!["host.memif.mode"], vec!["host.memif.mode", "ipam"])
    );
}
